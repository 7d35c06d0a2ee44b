import type { OutboxRelay } from './outbox-relay.js';
import type { OutboxStatus, OutboxStore } from './outbox-store.js';

/** Time between two counts of the rows for readers of `latest`, in milliseconds. */
const COUNT_INTERVAL = 10_000;
/** A count that takes less than this many milliseconds is repeated for each call. */
const QUICK_COUNT = 50;
/**
 * A slower count is reused for this many times as long as it took. Counting then takes a tenth of the time, however
 * many rows and calls there are: the relay works on the same connection.
 */
const MEMORY_FACTOR = 9;
/** Longest time for which a count is reused, in milliseconds. */
const MAX_MEMORY = 60_000;
/** Share of the closing time that is reserved for the connections. */
const DISCONNECTING_SHARE = 0.1;
/** Maximum time that is reserved for the connections, in milliseconds. */
const MAX_DISCONNECTING = 250;

/** The outbox of a running application. */
export class Outbox {
  private lastStatus: OutboxStatus | undefined;
  private counted: Promise<OutboxStatus> | undefined;
  /** Time until which the count is reused, by `performance.now()`. */
  private countedUntil = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly store: OutboxStore,
    /** `undefined` in a process that only produces. */
    private readonly relay: OutboxRelay | undefined,
    /** Closes the connections within `timeout` milliseconds. */
    private readonly disconnect: (timeout: number) => Promise<void>,
  ) {}

  start(): void {
    this.relay?.start();
    this.timer ??= setInterval(this.recount, COUNT_INTERVAL).unref();
    this.recount();
  }

  /** Stops claiming rows. */
  stop(): void {
    this.relay?.stop();
    clearInterval(this.timer);
  }

  /**
   * Closes the outbox within `patience` milliseconds. Most of this time is left for claimed rows to get into the
   * queue. All other rows stay in the table. A second call waits for the first.
   */
  close(patience: number): Promise<void> {
    this.stop();
    this.closing ??= this.end(patience);
    return this.closing;
  }

  /** Result of the last count; `undefined` if the database did not answer. */
  get latest(): OutboxStatus | undefined {
    return this.lastStatus;
  }

  /** Counts the rows. Calls at the same time, or soon after a slow count, share one count. */
  status(): Promise<OutboxStatus> {
    if (this.counted === undefined || performance.now() >= this.countedUntil) this.counted = this.count();
    return this.counted;
  }

  private async end(patience: number): Promise<void> {
    const disconnecting = Math.min(patience * DISCONNECTING_SHARE, MAX_DISCONNECTING);
    await this.relay?.close(patience - disconnecting);
    await this.disconnect(disconnecting);
  }

  private async count(): Promise<OutboxStatus> {
    const begunAt = performance.now();
    this.countedUntil = Infinity;
    try {
      return (this.lastStatus = await this.store.status());
    } catch (error) {
      this.lastStatus = undefined;
      throw error;
    } finally {
      const now = performance.now();
      const took = now - begunAt;
      this.countedUntil = took < QUICK_COUNT ? now : now + Math.min(took * MEMORY_FACTOR, MAX_MEMORY);
    }
  }

  private readonly recount = (): void => {
    // The relay logs that the database cannot be reached.
    this.status().catch(() => undefined);
  };
}
