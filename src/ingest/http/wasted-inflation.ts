import { RequestRefusal } from '../../http/request-refusal.js';
import { RateLimiter } from './rate-limiter.js';
import { ReadingCost } from './reading-cost.js';

/** Kilobytes a second. To inflate and to parse them takes a tenth of a thread. */
const LIMIT = 5 * 1_024;
/** What may come at once, in milliseconds of the limit: clients with a wrong key are told so. */
const BURST = 3_000;
/** A sender without a key may have any number of addresses, so all of them share the limit. */
const ANYBODY = '';

/**
 * Limits what is inflated for nothing. A kilobyte of gzip may be half a megabyte of JSON, and where no header has the
 * write key, only that JSON tells whether the sender has one. What has a known key does not count.
 */
export class WastedInflation {
  private readonly limiter = new RateLimiter(LIMIT, BURST);

  /** Begins a request. */
  begin(): RequestInflation {
    return new RequestInflation(this.limiter);
  }
}

/** What is inflated of one request. */
export class RequestInflation extends ReadingCost {
  constructor(private readonly limiter: RateLimiter) {
    super();
  }

  /** @throws {RequestRefusal} while too much was for nothing */
  override inflates(compressedBytes: number): void {
    const wait = this.limiter.wait(ANYBODY, performance.now());
    if (wait > 0) {
      throw new RequestRefusal(
        429,
        'RATE_LIMITED',
        'Too many compressed requests have no valid write key: send yours as the user name of Basic authentication, or do not compress.',
        wait,
      );
    }
    super.inflates(compressedBytes);
  }

  /** It was for nothing. */
  waste(): void {
    if (this.ofInflating === 0) return;
    this.limiter.count(ANYBODY, { messages: 1, bytes: this.ofInflating }, performance.now());
  }
}
