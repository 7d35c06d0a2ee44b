import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';

/** How long what was seen is shown to those who ask, in milliseconds. */
const SHARED_FOR = 1_000;
/** A look that takes longer is not followed by another one for those who asked meanwhile, in milliseconds. */
const LONGEST_FOLLOWED = 3_000;
/** How long the database rests at the most after a look of those who watch, in milliseconds: it may be fast again. */
const LONGEST_REST = 10_000;

interface Look<T> {
  seen: Promise<T>;
  /** When it began, and once it has ended, when that was. */
  at: number;
  /** How long it took, once it has ended. */
  took: number | undefined;
}

/**
 * Looks once for all who ask, and once at a time, however slow the database is. What was seen is shown for a second. Who
 * asks when a look has gone on for longer than that waits for the next one, or, where the database is slow, for this one:
 * two of them may take longer than anybody waits. Nobody who has seen something is shown something older later.
 */
export class SharedLook<T> {
  private latest: Look<T> | undefined;
  /** What follows the latest one as soon as that is over. */
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
   * For those who ask over and over: what the latest look sees, which may have begun long before, and is shown for as
   * long as it took. So the database rests for half of the time, however slow it is and however many ask.
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
