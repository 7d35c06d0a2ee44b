import type { OutboxRelay } from './outbox-relay.js';
import type { OutboxStatus, OutboxStore } from './outbox-store.js';

/** How often rows are counted for those who only read memory, in milliseconds. */
const COUNT_INTERVAL = 10_000;
/** A count that takes less is made again for whoever asks, in milliseconds. */
const QUICK_COUNT = 50;
/**
 * Any other is used for this many times as long as it took, so that counting takes a tenth of the time, however many
 * rows there are and whoever asks: the relay works on the same connection …
 */
const MEMORY_FACTOR = 9;
/** … and for this long at most, in milliseconds. */
const MAX_MEMORY = 60_000;
/** The end of the time to close is reserved for the connections: this share of it, … */
const DISCONNECTING_SHARE = 0.1;
/** … and this much at most, in milliseconds. */
const MAX_DISCONNECTING = 250;

/** The outbox of a running application. */
export class Outbox {
  private lastStatus: OutboxStatus | undefined;
  private counted: Promise<OutboxStatus> | undefined;
  /** When it is counted again if somebody asks. */
  private countedUntil = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly store: OutboxStore,
    /** `undefined` in a process that only produces. */
    private readonly relay: OutboxRelay | undefined,
    /** Closes its connections within these milliseconds. */
    private readonly disconnect: (timeout: number) => Promise<void>,
  ) {}

  start(): void {
    this.relay?.start();
    this.timer ??= setInterval(this.recount, COUNT_INTERVAL).unref();
    this.recount();
  }

  /** Claims no more rows. */
  stop(): void {
    this.relay?.stop();
    clearInterval(this.timer);
  }

  /**
   * Ends within these milliseconds. What is in hand has most of them to get into the queue, and what is left
   * stays in the table. A second call waits for the first.
   */
  close(patience: number): Promise<void> {
    this.stop();
    this.closing ??= this.end(patience);
    return this.closing;
  }

  /** What was counted last; `undefined` if the database did not answer. */
  get latest(): OutboxStatus | undefined {
    return this.lastStatus;
  }

  /** Counts the rows, once for all who ask at the same time, or soon after it took long. */
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
    // The relay logs that the database is away.
    this.status().catch(() => undefined);
  };
}
