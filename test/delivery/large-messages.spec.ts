import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startApplication } from '../support/application-child.js';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { destinationsBySource, Stage } from '../support/stage.js';

/** Close to the limit of 32 KB. */
const TEXT = 'x'.repeat(30_000);
const SLOW = 20;
/** Of all slow destinations: 180 MB. */
const MESSAGES = 6_000;
/** Megabytes that the process may use for its objects: as in a container with 256 MB. */
const HEAP = 128;
/** In milliseconds. */
const ANSWER_TIME = 300;

describeRedis('a backlog of large messages', () => {
  const stage = new Stage();
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  it('for slow destinations ends no process with little memory, which goes on to deliver to others', async () => {
    const slow = await stage.receiver({
      answer: () => new Promise((resolve) => setTimeout(resolve, ANSWER_TIME, 200)),
    });
    const quick = await stage.receiver();
    const names = Array.from({ length: SLOW }, (_, n) => `slow${n}`);
    const options = {
      connection: server.url(),
      ...destinationsBySource({
        quick: quick.url(),
        ...Object.fromEntries(names.map((name) => [name, slow.url(`/${name}`)])),
      }),
    };
    const producer = await stage.app({ ...options, worker: false });
    for (let n = 0; n < MESSAGES / SLOW; n++) {
      for (const name of names) {
        producer.analytics.source(name).track({ userId: 'u1', event: 'Large', properties: { TEXT } });
      }
      if (n % 20 === 0) await producer.analytics.flush();
    }
    await producer.analytics.flush();

    const worker = await startApplication(
      { ...options, end: 'kill' },
      { env: { NODE_OPTIONS: `--max-old-space-size=${HEAP}` } },
    );
    const ended = worker.exited.then(() => {
      throw new Error('The process has ended');
    });
    for (let n = 1; n <= 10; n++) {
      await Promise.race([slow.received(100 * n), ended]);
      producer.analytics.source('quick').track({ userId: 'u1', event: 'Small' });
      await producer.analytics.flush();
      await Promise.race([quick.received(n), ended]);
    }
    ended.catch(() => undefined);
    await worker.stop('SIGKILL');
    expect(quick.requests).toHaveLength(10);
  });
});
