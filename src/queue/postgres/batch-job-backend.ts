import { type JobType, PostgresQueueBackend } from 'bullmq';
import { jobCountsIn } from './job-counts.js';
import { DueJobs } from './due-jobs.js';
import { JobNotifications } from './job-notifications.js';
import { correctAheadLocks } from './job-locks.js';

/**
 * BullMQ's engine on PostgreSQL. It finds the jobs of a worker that crashed even where its clock was ahead, and asks
 * the database less, while it waits for a job and when jobs are counted.
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

  /** It may take the next job, as `moveToFailed` may. */
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

  /** After `null`, a worker looks for a job, whether or not one was announced. */
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
    // Where that fails, so does the look itself, which tells it.
    await correctAheadLocks(connection.pool, queueName, lockDuration).catch(() => undefined);
    return super.moveStalledJobsToWait();
  }
}
