import type { BodyCost } from '../../http/body-reader.js';
import { MAX_BATCH_BYTES } from '../../messages/serialize.js';

/** Bytes that gzip can make of one. */
const MAX_RATIO = 1_032;
/** To inflate takes so much less time than to parse the result. */
const SHARE_OF_INFLATING = 1 / 10;

/** What it took to read a body, in bytes as those of a good request count. */
export class ReadingCost implements BodyCost {
  private arrivedBytes = 0;
  private inflatedBytes = 0;

  arrived(bytes: number): void {
    this.arrivedBytes += bytes;
  }

  inflates(compressedBytes: number): void {
    this.inflatedBytes = Math.min(compressedBytes * MAX_RATIO, MAX_BATCH_BYTES) * SHARE_OF_INFLATING;
  }

  inflated(bytes: number): void {
    this.inflatedBytes = bytes;
  }

  /** What it was inflated to; 0 if it was not compressed. */
  get ofInflating(): number {
    return this.inflatedBytes;
  }

  get total(): number {
    return Math.max(this.arrivedBytes, this.inflatedBytes);
  }
}
