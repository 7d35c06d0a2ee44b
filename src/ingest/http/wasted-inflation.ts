import type { Inflation } from '../../http/body-reader.js';
import { RequestRefusal } from '../../http/request-refusal.js';
import { MAX_BATCH_BYTES } from '../../messages/serialize.js';
import { RateLimiter } from './rate-limiter.js';

/** Kilobytes a second. To inflate and to parse them takes a tenth of a thread. */
const LIMIT = 5 * 1_024;
/** What may come at once, in milliseconds of the limit: clients with a wrong key are told so. */
const BURST = 3_000;
/** Bytes that gzip can make of one. */
const MAX_RATIO = 1_032;
/** To inflate takes so much less time than to parse the result. */
const SHARE_OF_INFLATING = 1 / 10;
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
export class RequestInflation implements Inflation {
  private bytes = 0;

  constructor(private readonly limiter: RateLimiter) {}

  /** @throws {RequestRefusal} while too much was for nothing */
  begins(compressedBytes: number): void {
    const wait = this.limiter.wait(ANYBODY, performance.now());
    if (wait > 0) {
      throw new RequestRefusal(
        429,
        'RATE_LIMITED',
        'Too many compressed requests have no valid write key: send yours as the user name of Basic authentication, or do not compress.',
        wait,
      );
    }
    this.bytes = Math.min(compressedBytes * MAX_RATIO, MAX_BATCH_BYTES) * SHARE_OF_INFLATING;
  }

  ended(bytes: number): void {
    this.bytes = bytes;
  }

  /** It was for nothing. */
  waste(): void {
    if (this.bytes === 0) return;
    this.limiter.count(ANYBODY, { messages: 1, bytes: this.bytes }, performance.now());
  }
}
