import { batchBytes, MAX_BATCH_BYTES } from '../messages/serialize.js';
import type { NewBatch, NewJob } from '../queue/batch-job.js';
import { jobIdOf } from '../queue/job-id.js';
import { bytesOf, type TakenMessage } from './backlog.js';
import type { SourceConnection } from './router.js';

/**
 * Maximum number of messages in a job of several flushes. Flushes that had to wait are merged, and several destinations
 * share a job, since a job's fixed cost is small when 200 messages share it. Larger jobs would gain nothing more, and a
 * crash would repeat more messages.
 */
const MAX_MESSAGES = 200;

interface OutgoingBatch extends NewBatch {
  readonly messages: TakenMessage[];
}

/** A job that is being filled with flushes. */
export class OutgoingJob implements NewJob {
  readonly batches: OutgoingBatch[] = [];
  failedRetention = 0;
  private count = 0;
  /** Bytes of the bodies. A body for several destinations is stored once. */
  private bytes = 0;
  private readonly bodies = new Set<TakenMessage>();
  private id: string | undefined;

  /** Does not change after it is first read: the job has been filled by then. */
  get jobId(): string {
    return (this.id ??= jobIdOf(new Set(this.batches.map(({ destination }) => destination))));
  }

  /**
   * Takes flushes of a connection from the front as long as they fit. An empty job takes at least one.
   * Returns the bytes of their bodies, including bodies that the job has already.
   */
  takeFrom(connection: SourceConnection, flushed: TakenMessage[][]): number {
    const { destination, source, failedRetention } = connection;
    const messages: TakenMessage[] = [];
    let taken = 0;
    let bytes = 0;
    for (let next = flushed[0]; next !== undefined && this.fits(next); next = flushed[taken]) {
      messages.push(...next);
      this.count += next.length;
      this.bytes += this.newBytesOf(next);
      for (const message of next) this.bodies.add(message);
      bytes += bytesOf(next);
      taken++;
    }
    if (taken === 0) return 0;
    // Removed all at once, since each `shift` of a long list would move the rest of it.
    flushed.splice(0, taken);
    this.batches.push({ destination, source, messages });
    this.failedRetention = Math.max(this.failedRetention, failedRetention);
    return bytes;
  }

  private newBytesOf(messages: readonly TakenMessage[]): number {
    return messages.reduce((sum, message) => (this.bodies.has(message) ? sum : sum + message.bytes), 0);
  }

  private fits(messages: readonly TakenMessage[]): boolean {
    const count = this.count + messages.length;
    if (this.count === 0) return true;
    return (
      count <= MAX_MESSAGES && batchBytes(this.bytes + this.newBytesOf(messages), count) <= MAX_BATCH_BYTES
    );
  }
}
