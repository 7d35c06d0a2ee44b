import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';

/** How long a result is shared with later callers, in milliseconds. */
const SHARED_FOR = 1_000;
/** Longest look that is followed by another look for the callers that came meanwhile, in milliseconds. */
const LONGEST_FOLLOWED = 3_000;
/** Longest rest of the database between two looks for `watch`, in milliseconds: it may be fast again. */
const LONGEST_REST = 10_000;

interface Look<T> {
  seen: Promise<T>;
  /** When the look began or, once it has ended, when it ended. */
  at: number;
  /** How long the look took; `undefined` until it has ended. */
  took: number | undefined;
}

/**
 * Shares each look between all callers, and runs only one look at a time, however slow the database is. A result is
 * shared for a second. A caller that comes when a look has run for longer than that waits for the next look or, if the
 * database is slow, for the current look: two looks may take longer than any caller waits. No caller ever gets an older
 * result than before.
 */
export class SharedLook<T> {
  private latest: Look<T> | undefined;
  /** Result for the callers that wait for the end of `latest`. */
  private next: Promise<T> | undefined;

  constructor(
    private readonly look: () => Promise<T>,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {}

  take(): Promise<T> {
    const { latest, next, clock } = this;
    if (next !== undefined) return next;
    if (latest === undefined) return this.begin();
    if (clock.now() - latest.at < SHARED_FOR) return latest.seen;
    return latest.took === undefined ? this.follow(latest) : this.begin();
  }

  /**
   * Resolves to the result of the latest look, for callers that ask over and over. The look may have begun long
   * before. A result is shared for as long as the look took, but for at least one and at most ten seconds. So the
   * database rests half of the time, however many callers there are, unless a look takes longer than ten seconds.
   */
  watch(): Promise<T> {
    const { latest, clock } = this;
    if (latest === undefined) return this.begin();
    const { seen, at, took } = latest;
    if (took === undefined) return seen;
    const rest = Math.min(Math.max(took, SHARED_FOR), LONGEST_REST);
    return clock.now() - at < rest ? seen : this.begin();
  }

  private begin(): Promise<T> {
    const { clock } = this;
    const begun = clock.now();
    const seen = this.look().finally(() => {
      latest.at = clock.now();
      latest.took = latest.at - begun;
    });
    const latest: Look<T> = { seen, at: begun, took: undefined };
    this.latest = latest;
    return seen;
  }

  private follow(latest: Look<T>): Promise<T> {
    const end = (): Promise<T> => {
      this.next = undefined;
      return latest.took === undefined || latest.took <= LONGEST_FOLLOWED ? this.begin() : latest.seen;
    };
    this.next = latest.seen.then(end, end);
    return this.next;
  }
}
