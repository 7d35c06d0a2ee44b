import type { BodyCost } from '../../http/body-reader.js';
import { MAX_BATCH_BYTES } from '../../messages/serialize.js';

/** Largest number of bytes that one byte of gzip can inflate to. */
const MAX_RATIO = 1_032;
/** Time to inflate a body, as a share of the time to parse the result. */
const SHARE_OF_INFLATING = 1 / 10;

/** Cost of reading a body, in the bytes of a valid request that costs as much. */
export abstract class ReadingCost implements BodyCost {
  private arrivedBytes = 0;
  private inflatedBytes = 0;

  arrived(bytes: number): void {
    this.arrivedBytes += bytes;
  }

  begins(): void {
    // Without a known key, only compressed bodies are limited.
  }

  inflates(compressedBytes: number): void {
    this.inflatedBytes = Math.min(compressedBytes * MAX_RATIO, MAX_BATCH_BYTES) * SHARE_OF_INFLATING;
  }

  inflated(bytes: number): void {
    this.inflatedBytes = bytes;
  }

  /** Called if the request is refused before its messages are read. */
  abstract refused(error: unknown): void;

  /** Inflated size in bytes, or the cost of inflating if that failed, in the same unit; 0 if not compressed. */
  get ofInflating(): number {
    return this.inflatedBytes;
  }

  get total(): number {
    return Math.max(this.arrivedBytes, this.inflatedBytes);
  }
}
