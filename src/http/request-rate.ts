import { RequestRefusal } from './request-refusal.js';

/** Requests a second of one sender. */
const RATE = 50;
/** Those that change something: each is a write to the database, and a notice to all processes. */
const CHANGES = 5;
/** Requests that a sender may send at once. */
const BURST = 100;
const SECOND = 1_000;
/** Senders that are remembered before those are forgotten that have not sent for a while. */
const MAX_SENDERS = 1_000;

/**
 * Limits how often each sender may ask: 100 requests at once, and 50 a second from then on, or 5 that change something.
 * Times are those of a monotonic clock, in milliseconds.
 */
export class RequestRate {
  /** When a sender may send a whole burst again. */
  private readonly fullAt = new Map<string, number>();

  private readonly rate: number;

  constructor(
    private readonly now: () => number,
    private readonly counted: 'requests' | 'changes' = 'requests',
  ) {
    this.rate = counted === 'changes' ? CHANGES : RATE;
  }

  /** Counts a request. @throws {RequestRefusal} if the sender has sent too many; it is then not counted */
  count(sender: string): void {
    const now = this.now();
    const fullAt = Math.max(this.fullAt.get(sender) ?? now, now) + SECOND / this.rate;
    const wait = fullAt - now - (BURST * SECOND) / this.rate;
    if (wait > 0) {
      throw new RequestRefusal(
        429,
        'RATE_LIMITED',
        `More than ${this.rate} ${this.counted} a second came from you: send them more slowly.`,
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
