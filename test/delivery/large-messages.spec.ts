import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { startApplication } from '../support/application-child.js';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { destinationsBySource, Stage } from '../support/stage.js';

/** Close to the limit of 32 KB. */
const TEXT = 'x'.repeat(30_000);
/** Heap limit in megabytes, as in a container with 256 MB. */
const HEAP = 128;
/** Messages to another destination, one after the other. */
const QUICK = 5;
/** Milliseconds until the slow receiver answers. */
const ANSWER_TIME = 300;

describeRedis('a backlog of large messages', () => {
  const stage = new Stage();
  let server: RedisServer;

  beforeEach(async () => {
    server = await RedisServer.create();
  });
  afterEach(() => server.dispose());

  // Each partition has its own jobs under way.
  it.each([
    { count: 20, each: 200, partitions: 1 },
    { count: 100, each: 50, partitions: 8 },
  ])(
    'for $count slow destinations, on $partitions partitions, does not exhaust a process with little memory, which still delivers to others',
    async ({ count, each, partitions }) => {
      const slow = await stage.receiver({
        answer: () => new Promise((resolve) => setTimeout(resolve, ANSWER_TIME, 200)),
      });
      const quick = await stage.receiver();
      const names = Array.from({ length: count }, (_, n) => `slow${n}`);
      const options = {
        connection: server.url(),
        partitions,
        ...destinationsBySource({
          quick: quick.url(),
          ...Object.fromEntries(names.map((name) => [name, slow.url(`/${name}`)])),
        }),
      };
      const producer = await stage.app({ ...options, worker: false });
      for (let n = 0; n < each; n++) {
        for (const name of names) {
          producer.analytics.source(name).track({ userId: 'u1', event: 'Large', properties: { TEXT } });
        }
        await producer.analytics.flush();
      }

      const worker = await startApplication(
        { ...options, end: 'kill' },
        { env: { NODE_OPTIONS: `--max-old-space-size=${HEAP}` } },
      );
      const ended = worker.exited.then(() => {
        throw new Error('The process has ended');
      });
      for (let n = 1; n <= QUICK; n++) {
        await Promise.race([slow.received(100 * n), ended]);
        producer.analytics.source('quick').track({ userId: 'u1', event: 'Small' });
        await producer.analytics.flush();
        await Promise.race([quick.received(n), ended]);
      }
      ended.catch(() => undefined);
      await worker.stop('SIGKILL');
      expect(quick.requests).toHaveLength(QUICK);
    },
  );
});
