import type { Job } from 'bullmq';
import type { DeletedUsers } from '../deliveries/deleted-users.js';
import type { BatchJobData } from '../queue/batch-job.js';
import type { BatchQueue } from '../queue/batch-queue.js';
import type { EventLoopTurns } from '../shared/event-loop-turns.js';
import type { JobPlace } from './job-budget.js';
import type { SizedJob } from './job-sizes.js';
import type { BatchDelivery } from './batch-delivery.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import type { DeliveryScheduler } from './delivery-scheduler.js';
import type { QueueWrites } from './queue-writes.js';

export type BatchJob = Job<BatchJobData, void>;

/** What is needed to work on a job. */
export interface JobProcessorParts {
  deliveries: BatchDelivery;
  scheduler: DeliveryScheduler;
  queue: BatchQueue;
  writes: QueueWrites;
  reporter: DeliveryReporter;
  deleted: DeletedUsers;
  /** Spreads the work: many jobs go on at the same moment when their destination goes down. */
  turns: EventLoopTurns;
  /** Milliseconds that a job of an unknown destination or a newer format is left to other workers. */
  unknownJobTimeout: number;
}

/** A job as the worker holds it. */
export interface JobInHand extends SizedJob {
  job: BatchJob;
  /** The partition that the job is in. */
  partition: number;
  /** Proves to the queue that this worker holds it. */
  token: string | undefined;
  signal: AbortSignal;
  /** Its place among the jobs of this process. */
  place: Pick<JobPlace, 'begin' | 'putBack'>;
}

/** Puts a job back without counting an attempt. */
export async function moveToDelayed({ job, token, place }: JobInHand, until: number): Promise<void> {
  place.putBack();
  await job.moveToDelayed(until, token);
}
