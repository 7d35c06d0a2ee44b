import * as timers from 'node:timers';
import { WaitTimeoutError } from '../errors/testing.errors.js';

/** Node's own timers, read when this file loads: fake timers may replace them, even in `node:timers`. */
const { clearTimeout, setTimeout } = timers;

/** Below the five seconds that Jest and vitest give a test, so that the error says what is missing. */
const DEFAULT_TIMEOUT = 4_000;

/** Options of `waitFor`. */
export interface WaitOptions {
  /** In milliseconds. @default 4000 */
  timeout?: number;
}

export interface Wait<T, R> extends WaitOptions {
  /** Returns what is waited for, once it is there. */
  find: (items: readonly T[]) => R | undefined;
  /** What is waited for, for the error. */
  awaited: string;
}

/** Keeps what arrived, in its order, and lets a test wait for more. */
export class Arrivals<T> {
  private items: T[] = [];
  private readonly waiters = new Set<() => void>();

  /** @param describe a word or two about an item, for errors */
  constructor(private readonly describe: (item: T) => string) {}

  get all(): T[] {
    return [...this.items];
  }

  add(item: T): void {
    this.items.push(item);
    for (const look of [...this.waiters]) look();
  }

  clear(): void {
    this.items = [];
  }

  /**
   * Resolves as soon as `find` returns something. Fake timers do not hold back the timeout.
   *
   * @throws WaitTimeoutError
   */
  wait<R>({ find, awaited, timeout = DEFAULT_TIMEOUT }: Wait<T, R>): Promise<R> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.waiters.delete(look);
      };
      const look = (): void => {
        try {
          const found = find(this.items);
          if (found === undefined) return;
          resolve(found);
        } catch (error) {
          // The error goes to the test that waits, not to the code that added the item.
          reject(error instanceof Error ? error : new Error(String(error)));
        }
        end();
      };
      const timer = setTimeout(() => {
        end();
        reject(new WaitTimeoutError(awaited, timeout, this.summary));
      }, timeout);
      this.waiters.add(look);
      look();
    });
  }

  private get summary(): string {
    return this.items.length === 0 ? 'nothing' : this.items.map(this.describe).join(', ');
  }
}
