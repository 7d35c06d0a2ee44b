import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { jobIdFor } from '../../src/queue/job-id.js';
import { GuardedChild } from '../support/child-process.js';
import { describeRedis } from '../support/describe-backend.js';
import { putFailedJobs } from '../support/failed-jobs.js';
import { RedisServer } from '../support/redis-server.js';

const READ_FAILED = new URL('./children/read-failed.ts', import.meta.url);
const DESTINATION = 'dead';
const JOBS = 30_000;
const READINGS = 40;
/** Heap limit in megabytes. Without any failed job, the application takes half of it. */
const HEAP = 64;

/** Keys: failed jobs, job. Arguments: prefix of job keys, number of copies, suffix of their ids. */
const COPY = `
  local job, failed_at = redis.call('HGETALL', KEYS[2]), redis.call('HGET', KEYS[2], 'finishedOn')
  for n = 1, ARGV[2] do
    local id = string.format('%036d', n) .. ARGV[3]
    redis.call('HSET', ARGV[1] .. id, unpack(job))
    redis.call('ZADD', KEYS[1], failed_at - n, id)
  end`;

describeRedis('tens of thousands of failed jobs of one destination', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create();
    const id = jobIdFor(DESTINATION, 'first');
    const messages = [{ id: 'message', body: '{"version":1,"type":"track"}' }];
    await putFailedJobs(
      { connection: server.url(), webhooks: { id: DESTINATION, urls: ['https://receiver.example'] } },
      [
        {
          jobId: id,
          failedRetention: 604_800_000,
          batches: [{ destination: DESTINATION, source: 'default', messages }],
        },
      ],
    );
    const admin = new Redis(server.url());
    const [key = ''] = await admin.keys('*:failed');
    const jobs = key.slice(0, -'failed'.length);
    await admin.eval(COPY, 2, key, jobs + id, jobs, JOBS - 1, id.slice(-10));
    admin.disconnect();
  });
  afterAll(() => server.dispose());

  it('are listed, counted and replayed many times at once by a process with a small heap', async () => {
    const child = await GuardedChild.startScript(READ_FAILED, [server.url(), DESTINATION, String(READINGS)], {
      env: { ...process.env, NODE_OPTIONS: `--max-old-space-size=${HEAP}` },
    });
    const expected = [...new Array<number>(READINGS).fill(20), JOBS, 0];
    expect(await child.waitFor(/^read /)).toBe(['read', ...expected].join(' '));
    await child.exited;
  });
});
