import { BatchQueue } from '../../src/queue/batch-queue.js';
import type { NewJob } from '../../src/queue/batch-job.js';
import type { BatchJobQueue, QueueStorage } from '../../src/queue/queue-backend.js';
import { resolveOptions } from '../../src/options/resolve-options.js';
import { ApplicationMarks } from '../../src/queue/application-marks.js';
import { createQueueBackend } from '../../src/queue/create-queue-backend.js';
import { type AppOptions, moduleOptions } from './analytics-app.js';
import { LogLines } from './log-lines.js';

/** Jobs that are added in one call. */
const BULK = 200;

/** Keys: waiting and failed jobs. Arguments: the prefix of the keys of jobs, when the latest job failed, and why. */
const FAIL_ON_REDIS = `
  for index, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    local time = string.format('%.0f', ARGV[2] - index)
    redis.call('ZADD', KEYS[2], time, id)
    redis.call('HSET', ARGV[1] .. id, 'finishedOn', time, 'failedReason', ARGV[3])
  end
  redis.call('DEL', KEYS[1])`;

/** $1: queue; $2: when the latest job failed; $3: why. */
const FAIL_ON_POSTGRES = `
  UPDATE bullmq.job SET state = 'failed', finished_at_ms = $2::bigint - place, failed_reason = $3
  FROM (SELECT id, row_number() OVER (ORDER BY seq DESC) AS place FROM bullmq.job
    WHERE queue = $1 AND state = 'waiting') AS places
  WHERE job.queue = $1 AND job.id = places.id`;

/**
 * Puts jobs into the queue of an application without a running worker. The jobs have failed for good, as a worker
 * leaves them, a millisecond apart. None of them is delivered: that would take a minute for thousands of jobs.
 *
 * @param failedAt when the latest job failed, in milliseconds since the epoch. @default now
 * @param reason why they failed, beginning with a code. @default none is given
 */
export async function putFailedJobs(
  options: AppOptions,
  jobs: readonly NewJob[],
  failedAt = Date.now(),
  reason = '',
): Promise<void> {
  const resolved = resolveOptions(moduleOptions(options), { worker: true });
  const backend = await createQueueBackend(resolved, new LogLines());
  const queues = Array.from({ length: resolved.partitions }, (_, partition) =>
    backend.createQueue(partition, {}),
  );
  const batches = new BatchQueue(queues, { marks: new ApplicationMarks(resolved) });
  for (let start = 0; start < jobs.length; start += BULK) await batches.add(jobs.slice(start, start + BULK));
  for (const queue of queues) {
    await failAll(queue, backend.jobStorage, failedAt, reason);
    await queue.close();
  }
  await backend.close();
}

async function failAll(
  queue: BatchJobQueue,
  storage: QueueStorage,
  failedAt: number,
  reason: string,
): Promise<void> {
  if (storage.kind === 'postgres') {
    await storage.pool.query(FAIL_ON_POSTGRES, [queue.name, failedAt, reason]);
    return;
  }
  const keys = [queue.toKey('wait'), queue.toKey('failed'), queue.toKey('')];
  await storage.client.eval(FAIL_ON_REDIS, 2, ...keys, failedAt, reason);
}
