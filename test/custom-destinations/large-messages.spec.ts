import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/messages/message.types.js';
import { startApplication } from '../support/application-child.js';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage } from '../support/stage.js';

/** 30 KB as text, 640 KB in memory. */
const LIST = Array.from({ length: 10_000 }, () => ({}));
const HANGING = ['warehouse', 'lake', 'bus'];
/** Messages that each destination answers first, because a destination that answers gets more calls at once. */
const ANSWERED = 40;
/** Unanswered messages of each destination. The calls that it may have at once could hold all of them. */
const MESSAGES = 256;
/** Messages of a call: half a megabyte as text, 10 MB in memory. */
const OF_A_CALL = 16;
/** Heap limit in megabytes, as in a container with 256 MB. */
const HEAP = 128;

describeRedis('large messages for custom destinations', () => {
  const stage = new Stage();
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  it('do not exhaust a process with little memory while their destinations hang, nor stop deliveries to others', async () => {
    const names = [...HANGING, 'quick'];
    const connection = server.url();
    const sources = names.map((name) => ({ name, writeKey: `wk_${name}` }));
    const producer = await stage.app({
      connection,
      sources,
      customDestinations: names.map((id) => ({ id, sources: [id], deliver: () => undefined })),
      worker: false,
    });
    const track = async (messages: number, event: string, properties: JsonObject): Promise<void> => {
      for (let n = 0; n < messages; n++) {
        for (const name of HANGING)
          producer.analytics.source(name).track({ userId: 'u1', event, properties });
      }
      await producer.analytics.flush();
    };
    for (let n = 0; n < ANSWERED; n++) await track(1, 'Small', {});
    for (let n = 0; n < MESSAGES; n += OF_A_CALL) await track(OF_A_CALL, 'Hang', { LIST });

    const worker = await startApplication(
      { connection, sources, custom: names, end: 'kill' },
      { env: { NODE_OPTIONS: `--max-old-space-size=${HEAP}` } },
    );
    const calls: string[] = [];
    for (const name of HANGING) calls.push(await worker.waitFor(new RegExp(`^called ${name} Hang`)));
    for (let n = 0; n < 10; n++) {
      producer.analytics.source('quick').track({ userId: 'u1', event: 'Small' });
      await producer.analytics.flush();
      calls.push(await worker.waitFor(/^called quick /));
    }
    await worker.stop('SIGKILL');
    expect(calls).toHaveLength(13);
  });
});
