import { DelayedError, type Job } from 'bullmq';
import type { DeliveryAttempt, Destination } from '../destinations/destination.js';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import type { AnalyticsError } from '../errors/analytics.error.js';
import { DestinationNotFoundError } from '../errors/destination-not-found.error.js';
import { UnknownJobFormatError } from '../errors/unknown-job-format.error.js';
import { BATCH_JOB_VERSION, type BatchJobData } from '../queue/batch-job.js';
import { type BatchSettlement, settleBatch } from './batch-settlement.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import type { DeliverySlot, DeliverySlots } from './delivery-slots.js';
import { FailedForGood, RetryLater } from './job-outcome.errors.js';
import { lastAttemptAt } from './retry-policy.js';

/** How long a batch waits whose destination hangs and holds all that it may, in milliseconds. */
const BUSY_DELAY = 1_000;

export type BatchJob = Job<BatchJobData, void>;

/** Delivers one job: tries what is left of its batch, and puts back or keeps what was not delivered. */
export class BatchProcessor {
  constructor(
    private readonly destinations: DestinationRegistry,
    private readonly slots: DeliverySlots,
    private readonly reporter: DeliveryReporter,
  ) {}

  async process(job: BatchJob, token: string | undefined, signal: AbortSignal): Promise<void> {
    const { data } = job;
    if (data.v !== BATCH_JOB_VERSION) throw this.refusal(data, new UnknownJobFormatError(data.v));
    const destination = await this.destinations.find(data.destination);
    if (destination === undefined) throw this.refusal(data, new DestinationNotFoundError(data.destination));
    // A crash after the last attempt was written and before the job was put back would retry at once.
    if (data.notBefore !== undefined && data.notBefore > Date.now())
      return putOff(job, token, data.notBefore);

    const slot = await this.slots.enter(data.destination);
    if (slot === undefined) {
      // The window of a message begins when it is put off, too.
      if (data.firstAttemptAt === undefined) await job.updateData({ ...data, firstAttemptAt: Date.now() });
      return putOff(job, token, Date.now() + BUSY_DELAY * (0.5 + Math.random()));
    }
    let settlement: BatchSettlement;
    try {
      settlement = await this.deliver(data, destination, slot, signal);
    } finally {
      slot.release();
    }
    return this.settle(job, token, settlement);
  }

  private async deliver(
    data: BatchJobData,
    destination: Destination,
    slot: DeliverySlot,
    signal: AbortSignal,
  ): Promise<BatchSettlement> {
    const startedAt = Date.now();
    const window = { firstAttemptAt: data.firstAttemptAt ?? startedAt, retryWindow: destination.retryWindow };
    const attempt: DeliveryAttempt = {
      isLast: startedAt >= lastAttemptAt(window),
      signal,
      onSettled: () => {
        slot.progress();
      },
    };
    const messages = data.messages.filter((message) => message.failedAt === undefined);
    const results = await destination.deliver(messages, attempt);
    const settlement = settleBatch({ ...window, startedAt, messages, results }, Date.now());
    this.reporter.attempted(destination, settlement, startedAt);
    return settlement;
  }

  /** Has the queue keep what is left of the batch: put back, or as failed. */
  private async settle(job: BatchJob, token: string | undefined, settlement: BatchSettlement): Promise<void> {
    const { data } = job;
    const { unsettled, retried, deferred, dueAt } = settlement;
    const failed = [
      ...data.messages.filter((message) => message.failedAt !== undefined),
      ...settlement.failed,
    ];
    const left = [...unsettled, ...retried, ...deferred];
    if (left.length === 0 && failed.length === 0) {
      this.reporter.settled(data, settlement);
      return;
    }
    const { v, destination, source } = data;
    const { firstAttemptAt } = settlement;
    const notBefore = dueAt === undefined ? {} : { notBefore: dueAt };
    await job.updateData({
      v,
      destination,
      source,
      firstAttemptAt,
      ...notBefore,
      messages: [...left, ...failed],
    });
    this.reporter.settled(data, settlement);
    if (retried.length === 0 && left.length > 0) return putOff(job, token, dueAt ?? Date.now());
    if (dueAt !== undefined) throw new RetryLater(dueAt, left.length);
    throw new FailedForGood(`DELIVERY_FAILED: ${failed.length} messages could not be delivered`);
  }

  private refusal(data: BatchJobData, error: AnalyticsError): FailedForGood {
    this.reporter.refused(data, error);
    return FailedForGood.because(error);
  }
}

/** Puts a job back without counting an attempt. */
async function putOff(job: BatchJob, token: string | undefined, until: number): Promise<never> {
  await job.moveToDelayed(until, token);
  throw new DelayedError();
}
