import { setMaxListeners } from 'node:events';
import { AnalyticsClosedError } from '../errors/message.errors.js';
import { LONGEST_TIMER } from '../shared/clock.js';
import { within } from '../shared/within.js';

/** The changes that a shutdown has to wait for. */
export class RunningChanges {
  private readonly changes = new Set<Promise<unknown>>();
  private readonly controller = new AbortController();
  private isClosed = false;
  /** Keeps an otherwise idle process alive until its changes have ended, or the application has closed. */
  private keepAlive: NodeJS.Timeout | undefined;

  constructor() {
    // Each sync that waits for its turn adds a listener, and any number of syncs may wait.
    setMaxListeners(0, this.controller.signal);
  }

  /** Aborted when syncs are to end because the application shuts down. Its reason is the error to throw. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  async run<T>(change: Promise<T>): Promise<T> {
    this.changes.add(change);
    if (!this.isClosed) this.keepAlive ??= setTimeout(() => undefined, LONGEST_TIMER);
    try {
      return await change;
    } finally {
      this.changes.delete(change);
      if (this.changes.size === 0) this.letProcessEnd();
    }
  }

  /** Stops running and later syncs. Waits at most `timeout` milliseconds for all running changes. */
  async stop(timeout: number): Promise<void> {
    this.controller.abort(new AnalyticsClosedError());
    await within(timeout, Promise.allSettled(this.changes));
  }

  /** Refuses later changes. Those that have not ended may never end: a store of the application may not answer. */
  close(): void {
    this.isClosed = true;
    this.letProcessEnd();
  }

  /** @throws AnalyticsClosedError */
  assertOpen(): void {
    if (this.isClosed) throw new AnalyticsClosedError();
  }

  private letProcessEnd(): void {
    clearTimeout(this.keepAlive);
    this.keepAlive = undefined;
  }
}
