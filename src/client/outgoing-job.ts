import { randomUUID } from 'node:crypto';
import { batchBytes, MAX_BATCH_BYTES } from '../messages/limits.js';
import type { NewBatch, NewJob } from '../queue/batch-job.js';
import type { Lane } from './lane.js';
import { bytesOf, type TakenMessage } from './taken-message.js';

/**
 * What a job costs whatever it holds is little for each of 200 messages, so flushes that had to wait are
 * merged, and those of several destinations share a job; larger ones would gain nothing more, and a crash
 * would repeat more of them.
 */
const MAX_MESSAGES = 200;

interface OutgoingBatch extends NewBatch {
  readonly messages: TakenMessage[];
}

/** A job that is being filled with flushes. */
export class OutgoingJob implements NewJob {
  readonly jobId = randomUUID();
  readonly batches: OutgoingBatch[] = [];
  failedRetention = 0;
  private count = 0;
  private bytes = 0;

  /**
   * Takes flushes of a lane from the front, as long as they fit: one at least, when it is empty. Returns
   * the bytes of their bodies.
   */
  takeFrom(lane: Lane, flushed: TakenMessage[][]): number {
    const { destination, source, failedRetention } = lane;
    const messages: TakenMessage[] = [];
    const bytesBefore = this.bytes;
    for (let next = flushed[0]; next !== undefined && this.fits(next); next = flushed[0]) {
      messages.push(...next);
      this.count += next.length;
      this.bytes += bytesOf(next);
      flushed.shift();
    }
    if (messages.length === 0) return 0;
    this.batches.push({ destination, source, messages });
    this.failedRetention = Math.max(this.failedRetention, failedRetention);
    return this.bytes - bytesBefore;
  }

  private fits(messages: readonly TakenMessage[]): boolean {
    const count = this.count + messages.length;
    if (this.count === 0) return true;
    return count <= MAX_MESSAGES && batchBytes(this.bytes + bytesOf(messages), count) <= MAX_BATCH_BYTES;
  }
}
