import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { filter, firstValueFrom } from 'rxjs';
import { DeliveriesService, type MessageOutcome } from '../../src/index.js';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const DESTINATIONS = 100;
/** The job holds a body for each destination: 508 KB. */
const JOB_BYTES = 508_000;
const MOST_WRITTEN = 2_000_000;
const MESSAGES = 100;
const FAILURES_UNTIL_DOWN = 5;
/** Milliseconds between the answers of two receivers. */
const INTERVAL = 30;

describeRedis('the writes of a job', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await RedisServer.create();
    admin = new Redis(server.url());
  });
  afterAll(async () => {
    admin.disconnect();
    await server.dispose();
  });

  async function bytesWritten(): Promise<number> {
    const stats = await admin.info('stats');
    return Number(/total_net_input_bytes:(\d+)/.exec(stats)?.[1]);
  }

  it('are few if many destinations share the job, although each answers at another time', async () => {
    const receivers = await Promise.all(
      Array.from({ length: DESTINATIONS }, (_, index) =>
        stage.receiver({
          answer: () => new Promise((resolve) => setTimeout(resolve, index * INTERVAL, 200)),
        }),
      ),
    );
    const options = {
      connection: server.url(),
      webhooks: receivers.map((receiver, index) => webhooksTo(receiver, { id: `d${index}` })),
    };
    const producer = await stage.app({ ...options, worker: false });
    const envelope = 400;
    const text = 'x'.repeat(JOB_BYTES / DESTINATIONS - envelope);
    producer.analytics.track({ userId: 'u1', event: 'Shared', properties: { text } });
    await producer.analytics.flush();
    expect(await producer.queue.getWaitingCount()).toBe(1);

    const before = await bytesWritten();
    const worker = await stage.app(options);
    const told: MessageOutcome[] = [];
    worker.context.get(DeliveriesService).outcomes$.subscribe((outcome) => told.push(outcome));
    await Promise.all(receivers.map((receiver) => receiver.received(1)));
    await worker.settled();

    expect((await bytesWritten()) - before).toBeLessThan(MOST_WRITTEN);
    expect(receivers.map(({ requests }) => requests.length)).toEqual(receivers.map(() => 1));
    // Each destination is reported once, even if it answers while the outcomes of others are written.
    expect(told.map(({ destination }) => destination).sort()).toEqual(
      receivers.map((_, index) => `d${index}`).sort(),
    );
  });

  it('hold none of its messages if the job is put off because its URL is down', async () => {
    // With a shorter wait, the URL would soon be asked again with the first of the messages.
    const receiver = await stage.receiver({
      answer: () => ({ status: 503, headers: { 'retry-after': '600' } }),
    });
    const app = await stage.app({ connection: server.url(1), webhooks: webhooksTo(receiver) });
    const down = firstValueFrom(
      app.context.get(DeliveriesService).endpoints$.pipe(filter(({ type }) => type === 'down')),
    );
    for (let n = 0; n < FAILURES_UNTIL_DOWN; n++) app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    await down;
    await until(async () => ((await app.queue.getDelayedCount()) === 1 ? true : undefined));

    const before = await bytesWritten();
    const text = 'x'.repeat(JOB_BYTES / MESSAGES);
    for (let n = 0; n < MESSAGES; n++) {
      app.analytics.track({ userId: 'u1', event: 'Put off', properties: { text } });
    }
    await app.analytics.flush();
    await until(async () => {
      const counts = await app.queue.getJobCounts('waiting', 'prioritized', 'active');
      return Object.values(counts).every((count) => count === 0) ? true : undefined;
    });

    expect((await bytesWritten()) - before).toBeLessThan(1.5 * JOB_BYTES);
    expect(receiver.requests).toHaveLength(FAILURES_UNTIL_DOWN);
  });
});
