import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { DeliveriesService, type MessageOutcome } from '../../src/index.js';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage, webhooksTo } from '../support/stage.js';

const DESTINATIONS = 100;
/** The job holds a body for each of them: 508 KB. */
const JOB_BYTES = 508_000;
const MOST_WRITTEN = 2_000_000;
/** Between two receivers' answers, in milliseconds. */
const INTERVAL = 30;

describeRedis('a job that many destinations share', () => {
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

  it('is not written anew whenever one of them has answered', async () => {
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
    // Each is told once, also one that is answered while the queue is told of others.
    expect(told.map(({ destination }) => destination).sort()).toEqual(
      receivers.map((_, index) => `d${index}`).sort(),
    );
  });
});
