import { setTimeout as pause } from 'node:timers/promises';
import debugFactory from 'debug';
import { firstChunkOf } from '../shared/chunks.js';
import { LONGEST_TIMER } from '../shared/clock.js';
import { Progress } from '../shared/progress.js';
import { within } from '../shared/within.js';
import { DeletionLog } from './deletion-log.js';
import { deletionKey, type TakenDeletion } from './deletion-key.js';
import type { Deletion, DeletionStore } from './deletion-store.js';
import { taskOf } from './deletion-task.js';
import { type Erasure, Erasures } from './erasures.js';
import type { UserMessages } from './user-messages.js';

const debug = debugFactory('analytics');

const FIRST_RETRY_DELAY = 1_000;
const MAX_RETRY_DELAY = 60_000;
const RETRY_DELAY_CLOSING = 250;
/** Milliseconds that shutdown waits for stored deletions that make no progress: other processes complete them. */
const STORED_PATIENCE = 1_000;
/** Maximum number of deletions that are stored, or carried out, together: Redis limits the arguments of a script. */
const LIMIT = 1_000;

/** A deletion that this process took. */
interface OwnDeletion {
  userId: string;
  at: number;
  /** Names of the sources whose destinations get the deletion. */
  sources: ReadonlySet<string>;
  isOfAllSources: boolean;
  tenant: string | undefined;
}

/**
 * Carries out the deletion of users in the background: removes them from audiences, and removes their messages that are
 * kept or retried. A deletion is stored beside the queue first, even while others are carried out. So every process
 * knows of it, and another process, or the next start, completes what this process leaves undone.
 */
export class UserEraser {
  /** Deletions that are not stored yet, by key. */
  private readonly waiting = new Map<string, OwnDeletion>();
  /** Stored deletions that are not carried out yet, by key. A new one replaces another, and includes its sources. */
  private readonly stored = new Map<string, OwnDeletion>();
  /** Aborted when the application closes. Stored deletions that fail are left to another process or the next start. */
  private readonly closing = new AbortController();
  private readonly stop = new AbortController();
  private readonly progress = new Progress();
  private readonly erasures: Erasures;
  private readonly log: DeletionLog;
  private storing: Promise<void> | undefined;
  private work: Promise<void> | undefined;
  /** Whether a deletion was stored since the stored deletions were last read. */
  private hasStored = false;
  /** Keeps an otherwise idle process alive until its deletions are carried out. */
  private keepAlive: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: DeletionStore,
    messages: Pick<UserMessages, 'erase'>,
    logger: { warn(message: string): void },
    /** Whether audiences are in a store of the application. */
    private readonly hasOwnStore = false,
  ) {
    this.erasures = new Erasures(messages, this.stop.signal, this.progress.make, hasOwnStore);
    this.log = new DeletionLog(logger);
  }

  /** Registers another removal that runs together with that of the messages. */
  alsoRuns(erasure: Erasure): void {
    this.erasures.add(erasure);
  }

  /**
   * Stores a deletion and has it carried out. Never rejects.
   *
   * @param at when the user was deleted, in milliseconds since the epoch. @default now
   * @returns whether the deletion is stored; `false` if the application closes before
   */
  async add(deletion: TakenDeletion, at = Date.now()): Promise<boolean> {
    if (this.stop.signal.aborted) return false;
    const { userId, source, isOfAllSources, tenant } = deletion;
    const key = deletionKey(userId, { source: isOfAllSources ? undefined : source, tenant });
    const known = this.waiting.get(key) ?? this.stored.get(key);
    const latest = Math.max(at, known?.at ?? 0);
    const sources = new Set(known?.sources).add(source);
    this.waiting.set(key, { userId, at: latest, sources, isOfAllSources, tenant });
    this.startStoring();
    this.start();
    return this.isStored(key);
  }

  /** Carries out all stored deletions, whichever process took them. */
  start(): void {
    if (this.stop.signal.aborted) return;
    this.work ??= this.run();
  }

  /**
   * Ends within the timeout. Deletions that are not stored yet may use all of it. Returns the number of users whose
   * deletion could not be stored. Stored deletions are carried out by another process, or by the next start.
   */
  async close(timeout: number): Promise<number> {
    const end = performance.now() + timeout;
    this.closing.abort();
    await within(timeout, this.allStored());
    if (this.work !== undefined) await this.progress.wait(this.work, STORED_PATIENCE, end);
    this.stop.abort();
    clearTimeout(this.keepAlive);
    return usersOf(this.waiting.values()).size;
  }

  /** Waits until the deletions of a key are stored or the application closes. Resolves to whether they are stored. */
  private async isStored(key: string): Promise<boolean> {
    while (this.waiting.has(key) && !this.stop.signal.aborted) await this.storing;
    return !this.waiting.has(key);
  }

  private async allStored(): Promise<void> {
    while (this.waiting.size > 0 && !this.stop.signal.aborted) await this.storing;
  }

  private startStoring(): void {
    this.storing ??= this.repeat(() => this.storeWaiting(), this.stop.signal).then(() => {
      this.storing = undefined;
      // Another deletion may have come since the last were stored.
      if (this.waiting.size > 0 && !this.stop.signal.aborted) this.startStoring();
    });
  }

  private async run(): Promise<void> {
    this.keepAlive = setTimeout(() => undefined, LONGEST_TIMER);
    do {
      await this.storing;
      await this.repeat(() => this.carryOut(), this.closing.signal);
    } while ((this.storing !== undefined || this.hasStored) && !this.stop.signal.aborted);
    clearTimeout(this.keepAlive);
    this.work = undefined;
  }

  /**
   * Repeats a step until it resolves to `true`. A step that fails is tried again until a signal ends that: less and
   * less often, or at short intervals once the application closes.
   */
  private async repeat(step: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    let delay = FIRST_RETRY_DELAY;
    let isReported = false;
    let isDone = false;
    while (!isDone && !this.stop.signal.aborted) {
      try {
        isDone = await step();
        isReported = false;
        delay = FIRST_RETRY_DELAY;
      } catch (error) {
        if (!isReported) this.reportFailure(error);
        isReported = true;
        if (!signal.aborted) await this.rest(delay);
        if (signal.aborted) return;
        delay = Math.min(delay * 2, MAX_RETRY_DELAY);
      }
    }
  }

  /** Pauses before a retry. The shutdown ends the pause. */
  private async rest(delay: number): Promise<void> {
    const isClosing = this.closing.signal.aborted;
    const { signal } = isClosing ? this.stop : this.closing;
    await pause(isClosing ? RETRY_DELAY_CLOSING : delay, undefined, { signal }).catch(() => undefined);
  }

  /** Stores some of the waiting deletions. Resolves to whether all are stored. */
  private async storeWaiting(): Promise<boolean> {
    // Waits for the other calls made in the same turn, one for each source, to store them together.
    await Promise.resolve();
    const deletions = firstChunkOf(this.waiting, LIMIT);
    await this.store.add(
      deletions.map(([key, { at, sources, ...deletion }]) => ({
        key,
        at,
        task: taskOf({ ...deletion, sources: [...sources], isForOwnStore: this.hasOwnStore }),
      })),
    );
    this.hasStored = true;
    for (const [key, deletion] of deletions) {
      this.stored.set(key, deletion);
      if (this.waiting.get(key) === deletion) this.waiting.delete(key);
    }
    return this.waiting.size === 0;
  }

  /** Goes through all stored deletions once. Resolves to whether there were none that this process can complete. */
  private async carryOut(): Promise<boolean> {
    this.hasStored = false;
    let isAnyLeft = false;
    let failed: Promise<boolean> | undefined;
    for await (const deletions of this.store.pages(LIMIT)) {
      const page = this.carryOutPage(deletions);
      // A page that fails must not hold up the pages after it.
      const isAnyOurs = await page.catch(() => {
        failed ??= page;
        return true;
      });
      isAnyLeft ||= isAnyOurs;
      if (this.stop.signal.aborted) return false;
    }
    this.erasures.endLook();
    await failed;
    if (!isAnyLeft) this.forgetStored();
    return !isAnyLeft;
  }

  /** Resolves to whether this process can complete any of the deletions. */
  private async carryOutPage(deletions: readonly Deletion[]): Promise<boolean> {
    const { ours, done, unfinished, unreadable } = await this.erasures.run(deletions);
    if (this.stop.signal.aborted) return true;
    this.log.onUnreadable(unreadable);
    if (done.length > 0) await this.store.done(done);
    for (const { key, at } of done) if (this.stored.get(key)?.at === at) this.stored.delete(key);
    debug('carried out %d of %d deletions', done.length, deletions.length);
    const [error] = unfinished.values();
    if (unfinished.size > 0) throw error;
    return ours > 0;
  }

  /** Called when no deletion was left to carry out. Other processes carry deletions out as well. */
  private forgetStored(): void {
    if (!this.hasStored) this.stored.clear();
  }

  private reportFailure(error: unknown): void {
    if (this.stop.signal.aborted) return;
    const users = usersOf([...this.waiting.values(), ...this.stored.values()]);
    // Deletions that other processes took are not counted.
    this.log.onFailure(Math.max(users.size, 1), error);
  }
}

function usersOf(deletions: Iterable<OwnDeletion>): Set<string> {
  return new Set(Array.from(deletions, ({ userId }) => userId));
}
