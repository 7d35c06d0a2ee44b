import type { Clock, Timer } from '../shared/clock.js';
import type { DestinationChange, DestinationFeed } from './destination-feed.js';

/** How long remembered destinations may be used after the feed was last read, in milliseconds. */
const LEASE = 2_000;
/** How often the feed is read, in milliseconds. */
const INTERVAL = 1_000;
/** After this many readings without a call of `isFresh` or `use`, the feed is not read until it is needed again. */
const IDLE_READINGS = 30;
/** Calls of `isFresh` in one synchronous run that share one look at the clock, which takes as long as all else. */
const ANSWERS_PER_LOOK = 100;

const RESOLVED = Promise.resolve();

/**
 * Follows the changes that all processes make. While the feed cannot be read, remembered destinations may have
 * changed, so they must not be used.
 */
export class ChangeWatch {
  /** The latest change that is known. */
  private latest: string | undefined;
  private freshUntil = -Infinity;
  /** Number of calls of `isFresh` that may still be answered without a look at the clock. */
  private answers = 0;
  private readings = 0;
  private timer: Timer | undefined;
  private reading: Promise<void> | undefined;
  private isClosed = false;

  /** @param onRead called with the changes, or with `undefined` if everything may have changed, and with the time */
  constructor(
    private readonly feed: Pick<DestinationFeed, 'changesSince'>,
    private readonly clock: Clock,
    private readonly onRead: (changes: readonly DestinationChange[] | undefined, time: number) => void,
  ) {}

  /** Whether remembered destinations may be used. */
  get isFresh(): boolean {
    if (this.answers > 0) {
      this.answers--;
      return true;
    }
    this.readings = 0;
    if (this.clock.now() >= this.freshUntil) return false;
    this.answers = ANSWERS_PER_LOOK;
    // No change can become known before the synchronous run has ended.
    void RESOLVED.then(this.endRun);
    return true;
  }

  /** Keeps reading the feed for destinations that are in use without calls of `isFresh`. */
  use(): void {
    this.readings = 0;
    if (this.timer === undefined && !this.isClosed) this.readLater();
  }

  /** Reads the feed now. Rejects if that is not possible. */
  refresh(): Promise<void> {
    this.reading ??= this.read().finally(() => {
      this.reading = undefined;
      this.schedule();
    });
    return this.reading;
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
  }

  private async read(): Promise<void> {
    const askedAt = this.clock.now();
    const { latest, changes } = await this.feed.changesSince(this.latest);
    this.latest = latest;
    this.onRead(changes, askedAt);
    this.freshUntil = askedAt + LEASE;
  }

  private readonly endRun = (): void => {
    this.answers = 0;
  };

  private schedule(): void {
    this.timer?.cancel();
    this.timer = undefined;
    if (!this.isClosed && ++this.readings <= IDLE_READINGS) this.readLater();
  }

  private readLater(): void {
    this.timer = this.clock.afterUnlessIdle(INTERVAL, () => {
      // A caller that needs an answer calls `refresh` itself, and gets the error.
      this.refresh().catch(() => undefined);
    });
  }
}
