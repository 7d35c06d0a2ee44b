import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { GuardedChild } from '../../support/child-process.js';
import { describeRedis } from '../../support/describe-backend.js';
import { eventsIn } from '../../support/received-message.js';
import { RedisServer } from '../../support/redis-server.js';
import { Stage } from '../../support/stage.js';
import { basic } from './tracking-server.js';

const HOST = new URL('./children/busy-host.ts', import.meta.url);
const KEY = 'wk_web';
/** Megabytes that the process may use for its objects: as in a container with 256 MB. */
const HEAP = 128;
/** Text of which a process keeps each character in two bytes. */
const TEXT = `${'x'.repeat(30_000)}🚀`;
/** Messages in each request. */
const MESSAGES = 16;
/** 48 MB of requests and 72 MB of calls: each is more than the buffer has room for. */
const REQUESTS = 100;
const CALLS = 2_400;

describeRedis('a process with little memory while the queue is away', () => {
  const stage = new Stage();
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await RedisServer.create();
  });
  afterAll(() => redis.dispose());

  it('keeps the received messages and own calls that it has room for, and delivers them when the queue is back', async () => {
    const receiver = await stage.receiver();
    const host = await GuardedChild.startScript(HOST, [redis.url(), KEY, receiver.url(), TEXT], {
      env: { ...process.env, NODE_OPTIONS: `--max-old-space-size=${HEAP}` },
    });
    const url = (await host.waitFor(/^http:/)).trim();
    host.drain();
    const send = (): Promise<Response> => {
      const message = { type: 'track', userId: 'u1', event: 'Received', properties: { text: TEXT } };
      const body = JSON.stringify({ batch: Array.from({ length: MESSAGES }, () => message) });
      return fetch(`${url}/v1/batch`, { method: 'POST', headers: basic(KEY), body });
    };
    const bufferedAfter = async (calls: number): Promise<number> =>
      Number(await (await fetch(`${url}/calls/${calls}`)).text());

    await redis.stop();
    const answers = await Promise.all(Array.from({ length: REQUESTS }, send));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    const received = await bufferedAfter(0);
    const buffered = await bufferedAfter(CALLS);
    expect(received).toBeGreaterThan(0);
    expect(buffered).toBeGreaterThan(received);

    await redis.start();
    await receiver.received(buffered);
    const events = eventsIn(receiver.requests);
    expect(events).toHaveLength(buffered);
    expect(events.filter((event) => event === 'Received')).toHaveLength(received);
    await host.stop('SIGKILL');
  }, 300_000);
});
