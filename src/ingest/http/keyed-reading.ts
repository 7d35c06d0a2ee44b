import { RequestRefusal } from '../../http/request-refusal.js';
import type { RateLimiter } from './rate-limiter.js';
import { ReadingCost } from './reading-cost.js';

/** Cost of reading the body of a request whose header has the write key of a source. */
export class KeyedReading extends ReadingCost {
  constructor(
    private readonly limiter: RateLimiter,
    private readonly source: string,
  ) {
    super();
  }

  /** @throws {RequestRefusal} if others with the same key have used up its limit while the body arrived */
  override begins(): void {
    refuseIfLimited(this.limiter, this.source);
  }

  /** Counts a request that is not taken, unless it is to be sent again: it counts then. */
  override refused(error: unknown): void {
    if (error instanceof RequestRefusal && error.retryAfter !== undefined) return;
    this.limiter.count(this.source, { messages: 1, bytes: this.total }, performance.now());
  }
}

/** @throws {RequestRefusal} if a source exceeds its rate limit */
export function refuseIfLimited(limiter: RateLimiter, source: string): void {
  const wait = limiter.wait(source, performance.now());
  if (wait === 0) return;
  throw new RequestRefusal(
    429,
    'RATE_LIMITED',
    'This write key exceeds its rate limit: send more slowly.',
    wait,
  );
}
