import { DelayedError, type Job } from 'bullmq';
import type { Destination } from '../destinations/destination.js';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import { DestinationNotFoundError } from '../errors/destination-not-found.error.js';
import type { BatchJobData, QueuedBatch } from '../queue/batch-job.js';
import type { BatchAttempts } from './batch-attempts.js';
import { type BatchSettlement, leftOf } from './batch-settlement.js';
import { busyUntil } from './busy-until.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import { FailedForGood, RetryLater } from './job-outcome.errors.js';

export type BatchJob = Job<BatchJobData, void>;

/** Delivers a job of one batch: tries what is left of it, and puts back or keeps what was not delivered. */
export class BatchProcessor {
  constructor(
    private readonly destinations: DestinationRegistry,
    private readonly attempts: BatchAttempts,
    private readonly reporter: DeliveryReporter,
  ) {}

  async process(
    job: BatchJob,
    batch: QueuedBatch,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const failed = batch.messages.filter((message) => message.failedAt !== undefined);
    if (failed.length === batch.messages.length) throw FailedForGood.after(failed.length);
    const destination = await this.find(batch);
    // A crash after the last attempt was written and before the job was put back would retry at once.
    if (batch.notBefore !== undefined && batch.notBefore > Date.now())
      return putOff(job, token, batch.notBefore);

    const settlement = await this.attempts.make(batch, destination, signal);
    if (settlement === undefined) {
      // The window of a message begins when it is put off, too.
      if (batch.firstAttemptAt === undefined) await update(job, { ...batch, firstAttemptAt: Date.now() });
      return putOff(job, token, busyUntil(Date.now()));
    }
    return this.settle(job, batch, token, settlement);
  }

  private async find(batch: QueuedBatch): Promise<Destination> {
    const destination = await this.destinations.find(batch.destination);
    if (destination !== undefined) return destination;
    const error = new DestinationNotFoundError(batch.destination);
    this.reporter.refused(error, [batch]);
    throw FailedForGood.because(error);
  }

  /** Has the queue keep what is left of the batch: put back, or as failed. */
  private async settle(
    job: BatchJob,
    batch: QueuedBatch,
    token: string | undefined,
    settlement: BatchSettlement,
  ): Promise<void> {
    const left = leftOf(batch, settlement);
    if (left !== undefined) await update(job, left);
    this.reporter.settled(batch, settlement);
    if (left === undefined) return;
    const { unsettled, retried, deferred, dueAt } = settlement;
    const open = unsettled.length + retried.length + deferred.length;
    if (retried.length === 0 && open > 0) return putOff(job, token, dueAt ?? Date.now());
    if (dueAt !== undefined) throw new RetryLater(dueAt, open);
    throw FailedForGood.after(left.messages.length);
  }
}

function update(job: BatchJob, batch: QueuedBatch): Promise<void> {
  return job.updateData({ ...job.data, batches: [batch] });
}

/** Puts a job back without counting an attempt. */
async function putOff(job: BatchJob, token: string | undefined, until: number): Promise<never> {
  await job.moveToDelayed(until, token);
  throw new DelayedError();
}
