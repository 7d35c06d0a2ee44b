import type { OnApplicationBootstrap } from '@nestjs/common';
import debugFactory from 'debug';
import { thrownAt } from '../errors/thrown-at.js';
import { LONGEST_TIMER } from '../shared/clock.js';
import { within } from '../shared/within.js';
import type { DeletionStore } from './deletion-store.js';
import { userKey } from './message-body.js';
import type { UserMessages } from './user-messages.js';

const debug = debugFactory('analytics');

const FIRST_RETRY_DELAY = 1_000;
const MAX_RETRY_DELAY = 60_000;
/** Deletions that are carried out together. */
const LIMIT = 1_000;

/** A user whose deletion is to be carried out. */
export interface DeletedUser {
  userId: string;
  /** Names of the sources that the user is deleted from. */
  sources: string[];
}

/** Removes what a part of the module stores about deleted users. */
export type Erasure = (users: readonly DeletedUser[]) => Promise<void>;

interface WaitingDeletion {
  at: number;
  sources: Set<string>;
}

/**
 * Carries out the deletion of users in the background: removes them from audiences, and removes their
 * messages that are kept or retried. A deletion is stored beside the queue first, so that every process knows
 * of it, and so that the next start completes what this process leaves undone.
 */
export class UserEraser implements OnApplicationBootstrap {
  /** Not stored yet, by user. */
  private readonly waiting = new Map<string, WaitingDeletion>();
  private readonly erasures: Erasure[] = [];
  private readonly stop = new AbortController();
  private work: Promise<void> | undefined;
  private isReported = false;
  private wake: () => void = () => undefined;
  /** Keeps an otherwise idle process alive until its deletions are carried out. */
  private keepAlive: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: DeletionStore,
    private readonly messages: Pick<UserMessages, 'erase'>,
    private readonly logger: { warn(message: string): void },
  ) {}

  /** Registers another removal that runs together with that of the messages. */
  alsoRuns(erasure: Erasure): void {
    this.erasures.push(erasure);
  }

  /** Carries out the deletions that another process, or an earlier run of this one, left undone. */
  onApplicationBootstrap(): void {
    void this.store
      .pending(1)
      .then(({ length }) => {
        if (length > 0) this.start();
      })
      .catch((error: unknown) => {
        // The next deletion carries out these as well.
        debug('unfinished deletions could not be looked up: %o', error);
      });
  }

  /** @param source name of a source that the user is deleted from */
  add(userId: string, source: string): void {
    if (this.stop.signal.aborted) return;
    const sources = this.waiting.get(userId)?.sources ?? new Set();
    this.waiting.set(userId, { at: Date.now(), sources: sources.add(source) });
    this.start();
  }

  /**
   * Ends within the timeout. Returns the number of users whose deletion could not be stored. Stored deletions
   * are carried out by the next start.
   */
  async close(timeout: number): Promise<number> {
    await within(timeout, this.work ?? Promise.resolve());
    this.stop.abort();
    clearTimeout(this.keepAlive);
    this.wake();
    return this.waiting.size;
  }

  private start(): void {
    if (this.stop.signal.aborted) return;
    this.work ??= this.run();
  }

  private async run(): Promise<void> {
    this.keepAlive = setTimeout(() => undefined, LONGEST_TIMER);
    let delay = FIRST_RETRY_DELAY;
    let isDone = false;
    while ((!isDone || this.waiting.size > 0) && !this.stop.signal.aborted) {
      try {
        await this.storeWaiting();
        isDone = await this.carryOut();
        this.isReported = false;
        delay = FIRST_RETRY_DELAY;
      } catch (error) {
        this.reportFailure(error);
        await this.pause(delay);
        delay = Math.min(delay * 2, MAX_RETRY_DELAY);
      }
    }
    clearTimeout(this.keepAlive);
    this.work = undefined;
  }

  private async storeWaiting(): Promise<void> {
    // Stored together with the calls made in the same turn, one for each source.
    await Promise.resolve();
    const stored = [...this.waiting];
    if (stored.length === 0) return;
    await this.store.add(
      stored.map(([userId, { at, sources }]) => ({
        key: userKey(userId),
        at,
        task: JSON.stringify({ userId, sources: [...sources] } satisfies DeletedUser),
      })),
    );
    for (const [userId, deletion] of stored) {
      if (this.waiting.get(userId) === deletion) this.waiting.delete(userId);
    }
  }

  /** Resolves to whether nothing is left to do. */
  private async carryOut(): Promise<boolean> {
    const deletions = await this.store.pending(LIMIT);
    if (deletions.length === 0) return true;
    const users = deletions.flatMap(({ task }) => deletedUser(task));
    const deletedAt = new Map(deletions.map(({ key, at }): [string, number] => [key, at]));
    const [isComplete] = await Promise.all([
      this.messages.erase(deletedAt, this.stop.signal),
      ...this.erasures.map((erasure) => erasure(users)),
    ]);
    if (!isComplete) return false;
    await this.store.done(deletions);
    debug('carried out the deletion of %d users', deletions.length);
    return false;
  }

  private reportFailure(error: unknown): void {
    if (this.isReported || this.stop.signal.aborted) return;
    this.isReported = true;
    this.logger.warn(
      `The kept messages of ${Math.max(this.waiting.size, 1)} deleted users could not be removed yet ` +
        `(${thrownAt(error)}). It is tried again until it works; check the queue.`,
    );
  }

  private pause(delay: number): Promise<void> {
    if (this.stop.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delay);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Another version of this package may have written the task, so it may be anything. */
function deletedUser(task: string): DeletedUser[] {
  const value: unknown = JSON.parse(task);
  const { userId, sources } = Object(value) as Record<string, unknown>;
  return typeof userId === 'string' && Array.isArray(sources)
    ? [{ userId, sources: sources.map(String) }]
    : [];
}
