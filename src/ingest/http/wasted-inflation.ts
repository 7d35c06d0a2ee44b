import { RequestRefusal } from '../../http/request-refusal.js';
import { RateLimiter } from './rate-limiter.js';
import { ReadingCost } from './reading-cost.js';

/** Limit in kilobytes per second. To inflate and parse this much takes at most a tenth of a thread, whatever it is. */
const LIMIT = 1_024;
/** Milliseconds whose allowance may be used at once, so that clients with a wrong key are told so. */
const BURST = 5_000;
/** A sender without a key may have any number of addresses, so all of them share the limit. */
const ANYBODY = '';

/**
 * Limits the bytes that are inflated in vain. A kilobyte of gzip may be half a megabyte of JSON. If no header has the
 * write key, only that JSON shows whether the sender has a valid key. Bodies with a known key count only if that key
 * exceeds its own limit.
 */
export class WastedInflation {
  private readonly limiter = new RateLimiter(LIMIT, BURST);

  /** Begins a request. */
  begin(): RequestInflation {
    return new RequestInflation(this.limiter);
  }
}

/** Cost of inflating the body of one request. */
export class RequestInflation extends ReadingCost {
  constructor(private readonly limiter: RateLimiter) {
    super();
  }

  /** @throws {RequestRefusal} while too much was inflated in vain */
  override inflates(compressedBytes: number): void {
    const wait = this.limiter.wait(ANYBODY, performance.now());
    if (wait > 0) {
      throw new RequestRefusal(
        429,
        'RATE_LIMITED',
        'Too many compressed requests were inflated in vain: send the write key as the user name of Basic authentication, or do not compress the body.',
        wait,
      );
    }
    super.inflates(compressedBytes);
  }

  /** Counts the inflated bytes as wasted. */
  override refused(): void {
    if (this.ofInflating === 0) return;
    this.limiter.count(ANYBODY, { messages: 1, bytes: this.ofInflating }, performance.now());
  }
}
