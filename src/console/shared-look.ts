import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';

/** How long what was seen is shown to those who ask, in milliseconds. */
const SHARED_FOR = 1_000;

interface Look<T> {
  seen: Promise<T>;
  /** When it began, and once it has ended, when that was. */
  at: number;
  isOver: boolean;
}

/**
 * Looks once for all who ask, and once at a time, however slow the database is. What was seen is shown for a second. Who
 * asks when a look has gone on for longer than that waits for the next one. Nobody who has seen something is shown
 * something older later.
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
    return latest.isOver ? this.begin() : this.follow(latest);
  }

  private begin(): Promise<T> {
    const { clock } = this;
    const seen = this.look().finally(() => {
      latest.at = clock.now();
      latest.isOver = true;
    });
    const latest: Look<T> = { seen, at: clock.now(), isOver: false };
    this.latest = latest;
    return seen;
  }

  private follow({ seen }: Look<T>): Promise<T> {
    const begin = (): Promise<T> => {
      this.next = undefined;
      return this.begin();
    };
    this.next = seen.then(begin, begin);
    return this.next;
  }
}
