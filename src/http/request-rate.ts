import { RequestRefusal } from './request-refusal.js';

/** Requests per second that one sender may send. */
const RATE = 50;
/** Changes per second that one sender may make: each is a write to the database, and a notice to all processes. */
const CHANGES = 5;
/** Requests that a sender may send at once. */
const BURST = 100;
const SECOND = 1_000;
/** Number of remembered senders at which those that have not sent for a while are forgotten. */
const MAX_SENDERS = 1_000;

/**
 * Limits the requests of each sender: 100 at once, then 50 a second, or 5 a second for requests that change something.
 * Times are milliseconds of a monotonic clock.
 */
export class RequestRate {
  /** Time at which each sender may send a whole burst again. */
  private readonly fullAt = new Map<string, number>();

  private readonly rate: number;

  constructor(
    private readonly now: () => number,
    private readonly counted: 'requests' | 'changes' = 'requests',
  ) {
    this.rate = counted === 'changes' ? CHANGES : RATE;
  }

  /** Counts a request. @throws {RequestRefusal} if the sender has sent too many; the request is then not counted */
  count(sender: string): void {
    const now = this.now();
    const fullAt = Math.max(this.fullAt.get(sender) ?? now, now) + SECOND / this.rate;
    const wait = fullAt - now - (BURST * SECOND) / this.rate;
    if (wait > 0) {
      throw new RequestRefusal(
        429,
        'RATE_LIMITED',
        `You sent more than ${this.rate} ${this.counted} per second: send them more slowly.`,
        Math.max(wait, SECOND),
      );
    }
    if (this.fullAt.size >= MAX_SENDERS) this.forget(now);
    this.fullAt.set(sender, fullAt);
  }

  private forget(now: number): void {
    for (const [sender, fullAt] of this.fullAt) if (fullAt <= now) this.fullAt.delete(sender);
  }
}
