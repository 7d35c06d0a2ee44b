import { PostgresQueueBackend } from 'bullmq';
import { correctAheadLocks } from './job-locks.js';

/** BullMQ's engine on PostgreSQL, which finds the jobs of a worker that crashed also where its clock was ahead. */
export class BatchJobBackend extends PostgresQueueBackend {
  override async moveStalledJobsToWait(): Promise<string[]> {
    const { connection, queueName, opts } = this;
    const lockDuration = 'lockDuration' in opts ? Number(opts.lockDuration) : 0;
    // Where that fails, so does the look itself, which tells it.
    await correctAheadLocks(connection.pool, queueName, lockDuration).catch(() => undefined);
    return super.moveStalledJobsToWait();
  }
}
