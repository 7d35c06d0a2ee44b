import debugFactory from 'debug';
import { thrownAt } from '../errors/thrown-at.js';
import { within } from '../time/within.js';
import type { FailedMessages } from './failed-messages.js';

const debug = debugFactory('analytics');

const FIRST_RETRY_DELAY = 1_000;
const MAX_RETRY_DELAY = 60_000;
/** Longest timer that Node has; its only purpose is to keep the process alive. */
const FOR_EVER = 2 ** 31 - 1;

/**
 * Removes the kept messages of deleted users in the background: all users of one moment in one reading
 * of the queue. What cannot be removed is tried again until it can.
 */
export class UserEraser {
  private waiting = new Set<string>();
  private inWork: ReadonlySet<string> = new Set();
  private work: Promise<void> | undefined;
  private closed = false;
  private told = false;
  private wake: () => void = () => undefined;
  /** What was promised is done before an otherwise idle process ends. */
  private keepAlive: NodeJS.Timeout | undefined;

  constructor(
    private readonly messages: Pick<FailedMessages, 'erase'>,
    private readonly logger: { warn(message: string): void },
  ) {}

  add(userId: string): void {
    if (this.closed) return;
    this.waiting.add(userId);
    this.work ??= this.run();
  }

  /** Ends within the timeout, and returns the number of users whose messages may still be there. */
  async close(timeout: number): Promise<number> {
    await within(timeout, this.work ?? Promise.resolve());
    this.closed = true;
    clearTimeout(this.keepAlive);
    this.wake();
    return new Set([...this.waiting, ...this.inWork]).size;
  }

  private async run(): Promise<void> {
    this.keepAlive = setTimeout(() => undefined, FOR_EVER);
    let delay = FIRST_RETRY_DELAY;
    while (this.waiting.size > 0 && !this.closed) {
      if (await this.erase()) {
        delay = FIRST_RETRY_DELAY;
      } else {
        await this.pause(delay);
        delay = Math.min(delay * 2, MAX_RETRY_DELAY);
      }
    }
    clearTimeout(this.keepAlive);
    this.work = undefined;
  }

  private async erase(): Promise<boolean> {
    const users = this.waiting;
    this.inWork = users;
    this.waiting = new Set();
    try {
      const erased = await this.messages.erase(users);
      debug('erased %d kept messages of %d deleted users', erased, users.size);
      this.told = false;
      return true;
    } catch (error) {
      for (const user of users) this.waiting.add(user);
      this.tellFailure(error);
      return false;
    } finally {
      this.inWork = new Set();
    }
  }

  private tellFailure(error: unknown): void {
    if (this.told || this.closed) return;
    this.told = true;
    this.logger.warn(
      `The kept messages of ${this.waiting.size} deleted users could not be removed yet (${thrownAt(error)}). ` +
        'It is tried again until it works; check the queue.',
    );
  }

  private pause(delay: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delay);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
