import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openRedisClients, type RedisClients } from '../../../src/queue/redis/redis-clients.js';
import { describeRedis } from '../../support/describe-backend.js';
import { RedisServer } from '../../support/redis-server.js';

describeRedis('a client of Redis', () => {
  let server: RedisServer;
  let clients: RedisClients;

  beforeAll(async () => {
    server = await RedisServer.create();
    clients = await openRedisClients(server.url(), { onDown: () => undefined, onUp: () => undefined });
  });

  afterAll(async () => {
    clients.close();
    await server.dispose();
  });

  /** How often the server has read from its connections. */
  async function reads(): Promise<number> {
    const stats = await clients.client.info('stats');
    return Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]);
  }

  /** Long enough for the server to read what was written before, in the same turn of the event loop. */
  function work(): void {
    const end = performance.now() + 5;
    while (performance.now() < end);
  }

  it('sends the commands of one turn of the event loop together', async () => {
    const before = await reads();
    const answers = Array.from({ length: 10 }, (_, index) => {
      work();
      return clients.client.echo(`${index}`);
    });
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`));
    // The last look is one of its own.
    expect((await reads()) - before).toBe(2);
  });

  it('sends what comes in a later turn on its own', async () => {
    const before = await reads();
    for (const text of ['a', 'b', 'c']) expect(await clients.client.echo(text)).toBe(text);
    expect((await reads()) - before).toBe(4);
  });

  it('has an answer for all that was under way when it had to connect again', async () => {
    const answers = Array.from({ length: 10 }, (_, index) => clients.client.echo(`${index}`));
    clients.client.disconnect(true);
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`));
  });
});
