import type { Clock, Timer } from '../shared/clock.js';
import type { DestinationChange, DestinationFeed } from './destination-feed.js';

/** How long what is remembered may be used after the feed was last read, in milliseconds. */
const LEASE = 2_000;
/** How often the feed is read, in milliseconds. */
const INTERVAL = 1_000;
/** After this many readings without a question, or use, the feed is not read until there is one again. */
const IDLE_READINGS = 30;
/** Questions of one synchronous run for which the clock is read once: reading it takes as long as all else. */
const ANSWERS_PER_LOOK = 100;

const RESOLVED = Promise.resolve();

/**
 * Follows the changes of all processes. While the feed cannot be read, nothing that is remembered may be
 * used: it may have changed meanwhile.
 */
export class ChangeWatch {
  private revision: number | undefined;
  private freshUntil = -Infinity;
  /** How often `isFresh` may still be answered without a look at the clock. */
  private answers = 0;
  private readings = 0;
  private timer: Timer | undefined;
  private reading: Promise<void> | undefined;
  private isClosed = false;

  /** @param onChanges called with what has changed; `undefined` if that may be everything */
  constructor(
    private readonly feed: Pick<DestinationFeed, 'changesSince'>,
    private readonly clock: Clock,
    private readonly onChanges: (changes: readonly DestinationChange[] | undefined) => void,
  ) {}

  /** Whether what is remembered may be used. */
  get isFresh(): boolean {
    if (this.answers > 0) {
      this.answers--;
      return true;
    }
    this.readings = 0;
    if (this.clock.now() >= this.freshUntil) return false;
    this.answers = ANSWERS_PER_LOOK;
    // Nothing can be learnt before the run has ended.
    void RESOLVED.then(this.endRun);
    return true;
  }

  /** What is remembered is used without a question, so changes of it have to be heard of. */
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
    const { revision, changes } = await this.feed.changesSince(this.revision);
    this.revision = revision;
    if (changes === undefined || changes.length > 0) this.onChanges(changes);
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
      // Callers that need an answer ask again, and get the error.
      this.refresh().catch(() => undefined);
    });
  }
}
