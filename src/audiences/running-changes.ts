import { setMaxListeners } from 'node:events';
import { AnalyticsClosedError } from '../errors/message.errors.js';
import { within } from '../shared/within.js';

/** The changes that a shutdown has to wait for. */
export class RunningChanges {
  private readonly changes = new Set<Promise<unknown>>();
  private readonly controller = new AbortController();
  private isClosed = false;

  constructor() {
    // Each sync that waits for its turn listens, and any number may.
    setMaxListeners(0, this.controller.signal);
  }

  /** Aborted when syncs are to end because the application shuts down. Its reason is the error to throw. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  async run<T>(change: Promise<T>): Promise<T> {
    this.changes.add(change);
    try {
      return await change;
    } finally {
      this.changes.delete(change);
    }
  }

  /** Stops all syncs, running and later ones, and waits for them within the timeout. */
  async stop(timeout: number): Promise<void> {
    this.controller.abort(new AnalyticsClosedError());
    await within(timeout, Promise.allSettled(this.changes));
  }

  close(): void {
    this.isClosed = true;
  }

  /** @throws AnalyticsClosedError */
  assertOpen(): void {
    if (this.isClosed) throw new AnalyticsClosedError();
  }
}
