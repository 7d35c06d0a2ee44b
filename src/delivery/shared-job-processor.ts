import type { DestinationRegistry } from '../destinations/destination-registry.js';
import { failedRetentionOf, type LeftBatch, type QueuedBatch } from '../queue/batch-job.js';
import type { BatchQueue } from '../queue/batch-queue.js';
import type { BatchAttempts } from './batch-attempts.js';
import type { BatchJob } from './batch-processor.js';
import { type BatchSettlement, leftOf } from './batch-settlement.js';
import { busyUntil } from './busy-until.js';
import type { DeliveryReporter } from './delivery-reporter.js';

/** What the attempt of one of the batches came to. */
interface Attempted {
  batch: QueuedBatch;
  /** `undefined` when it could not be made. */
  settlement: BatchSettlement | undefined;
  left: QueuedBatch | undefined;
}

/**
 * Delivers a job of several batches: tries each of them once, and gives what is left of them jobs of their
 * own, so that the job itself is done, and no batch waits for another one's retries.
 */
export class SharedJobProcessor {
  constructor(
    private readonly destinations: DestinationRegistry,
    private readonly attempts: BatchAttempts,
    private readonly queue: BatchQueue,
    private readonly reporter: DeliveryReporter,
  ) {}

  async process(job: BatchJob, signal: AbortSignal): Promise<void> {
    const attempted = await Promise.all(job.data.batches.map((batch) => this.attempt(batch, signal)));
    const failedRetention = failedRetentionOf(job.opts);
    const left = attempted.flatMap(({ left: batch }, index): LeftBatch[] =>
      // Under an id that follows from the job's: after a crash from here on it is tried as a whole again, and
      // what it leaves then was either left the first time, too, or is delivered.
      batch === undefined ? [] : [{ jobId: `${String(job.id)}-${index}`, failedRetention, batch }],
    );
    if (left.length > 0) await this.queue.putBack(left);
    for (const { batch, settlement } of attempted) {
      if (settlement !== undefined) this.reporter.settled(batch, settlement);
    }
  }

  private async attempt(batch: QueuedBatch, signal: AbortSignal): Promise<Attempted> {
    const destination = await this.destinations.find(batch.destination);
    // In a job of its own it is refused, and kept as what it is.
    if (destination === undefined) return { batch, settlement: undefined, left: batch };
    const settlement = await this.attempts.make(batch, destination, signal);
    if (settlement !== undefined) return { batch, settlement, left: leftOf(batch, settlement) };
    const now = Date.now();
    // The window of a message begins when it is put off, too.
    const left = { ...batch, firstAttemptAt: now, notBefore: busyUntil(now) };
    return { batch, settlement: undefined, left };
  }
}
