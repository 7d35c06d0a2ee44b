import { type JobType, PostgresQueueBackend } from 'bullmq';
import { jobCountsIn } from './job-counts.js';
import { DueJobs } from './due-jobs.js';
import { JobNotifications } from './job-notifications.js';
import { correctAheadLocks } from './job-locks.js';

/**
 * BullMQ's engine on PostgreSQL. Finds the jobs of a crashed worker even if that worker's clock was ahead. Queries the
 * database less while it waits for a job, and reads less to count jobs.
 */
export class BatchJobBackend extends PostgresQueueBackend {
  private readonly notifications = new JobNotifications(this.connection, this.queueName);

  private readonly dueJobs = new DueJobs(this.connection, this.queueName);

  override async moveToActive(token: string, name?: string): Promise<unknown[]> {
    await this.dueJobs.promote();
    const found = await this.notifications.look(() => super.moveToActive(token, name));
    const [job, , , dueAt] = found;
    if (job === null && (Number(dueAt) || Infinity) <= Date.now()) this.dueJobs.overlooked();
    return found;
  }

  /** Promotes due jobs first, since BullMQ may take the next job here, as in `moveToFailed`. */
  override async moveToCompleted(
    ...job: Parameters<PostgresQueueBackend['moveToCompleted']>
  ): ReturnType<PostgresQueueBackend['moveToCompleted']> {
    await this.dueJobs.promote();
    return super.moveToCompleted(...job);
  }

  override async moveToFailed(
    ...job: Parameters<PostgresQueueBackend['moveToFailed']>
  ): ReturnType<PostgresQueueBackend['moveToFailed']> {
    await this.dueJobs.promote();
    return super.moveToFailed(...job);
  }

  /** Always resolves to `null`. The worker then looks for a job, whether or not a job was announced. */
  override async waitForJob(seconds: number): Promise<null> {
    await this.notifications.wait(seconds * 1_000);
    return null;
  }

  override async disconnectBlocking(wait?: boolean): Promise<void> {
    this.notifications.interrupt();
    this.dueJobs.stop();
    return super.disconnectBlocking(wait);
  }

  override async reconnectBlocking(): Promise<void> {
    this.notifications.resume();
    return super.reconnectBlocking();
  }

  override moveToDelayed(
    ...job: Parameters<PostgresQueueBackend['moveToDelayed']>
  ): ReturnType<PostgresQueueBackend['moveToDelayed']> {
    return this.notifications.putBack(() => super.moveToDelayed(...job));
  }

  override getCounts(types: JobType[], delayedBefore?: number): Promise<number[]> {
    return delayedBefore === undefined
      ? jobCountsIn(this.connection.pool, this.queueName, types)
      : super.getCounts(types, delayedBefore);
  }

  override async moveStalledJobsToWait(): Promise<string[]> {
    const { connection, queueName, opts } = this;
    const lockDuration = 'lockDuration' in opts ? Number(opts.lockDuration) : 0;
    // If this fails, so does the check itself, which reports the error.
    await correctAheadLocks(connection.pool, queueName, lockDuration).catch(() => undefined);
    return super.moveStalledJobsToWait();
  }
}
