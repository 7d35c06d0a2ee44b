import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ConnectionOptions } from 'bullmq';
import { Redis } from 'ioredis';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { createCertificates } from '../../support/certificates.js';
import { describeRedis, describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { RedisServer } from '../../support/redis-server.js';
import { Stage } from '../../support/stage.js';

const KEYS = '{nestjs-analytics}:*';

describeRedis('a connection to Redis', () => {
  const stage = new Stage();
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create({ appendOnly: true });
  });
  afterAll(() => server.dispose());

  function start(connection: string | ConnectionOptions): Promise<AnalyticsApp> {
    const webhooks = { urls: ['https://hooks.example.com/events'] };
    return stage.app({ connection, webhooks, worker: false, shutdownTimeout: 500 });
  }

  async function keysIn(database: number): Promise<number> {
    const client = new Redis(server.url(database));
    const keys = await client.keys(KEYS);
    client.disconnect();
    return keys.length;
  }

  it('is used if it is given as `{ url }`, with the options beside it', async () => {
    const app = await start({ url: server.url(7), connectionName: 'analytics' });
    app.analytics.track({ userId: 'u1', event: 'Queued' });
    await app.analytics.flush();
    expect(await keysIn(7)).toBeGreaterThan(0);
    expect(await keysIn(0)).toBe(0);
  });

  it('is encrypted if its URL says so, and checked with the authority beside it', async () => {
    const { ca, good } = createCertificates();
    const encrypted = await RedisServer.create({ tls: { ca, ...good } });
    const app = await start({ url: encrypted.url(), tls: { ca } });
    app.analytics.track({ userId: 'u1', event: 'Queued' });
    expect(await app.analytics.flush()).toMatchObject({ queued: 1, pending: 0 });

    const unknown = await start(encrypted.url());
    expect(await unknown.log.line(/cannot be reached/)).toMatch(/certificate is not accepted/);
    await Promise.all([app.close(), unknown.close()]);
    await encrypted.dispose();
  });

  it('is refused if its server has no such database, and nothing goes to another database', async () => {
    await expect(start(server.url(1_000))).rejects.toMatchObject({
      code: 'UNSUPPORTED_QUEUE_SERVER',
      message: expect.stringMatching(/its Redis has no database 1000.*`databases`/),
    });
    expect(await keysIn(0)).toBe(0);
  });

  it('is not used for another database when its server starts without the requested one', async () => {
    await server.stop();
    const app = await start(server.url(1_000));
    app.analytics.track({ userId: 'u1', event: 'Waiting' });
    await app.log.line(/cannot be reached/);
    await server.start();
    expect(await app.analytics.flush({ timeout: 1_000 })).toMatchObject({ pending: 1 });
    expect(await keysIn(0)).toBe(0);
  });

  it('is refused if it leads to a node of a cluster', async () => {
    const node = await RedisServer.create({ cluster: true });
    await expect(start(`redis://127.0.0.1:${node.port}`)).rejects.toMatchObject({
      code: 'UNSUPPORTED_QUEUE_SERVER',
      message: expect.stringMatching(
        /a node of a Redis Cluster.*`connection: \{ cluster: \[\{ host, port \}\] \}`/,
      ),
    });
    await node.dispose();
  });

  describeWith('postgres', PostgresServer.installed, 'that leads to a PostgreSQL', () => {
    it('is reported as not leading to a Redis', async () => {
      const postgres = await PostgresServer.create();
      const app = await start(`redis://127.0.0.1:${postgres.port}`);
      expect(await app.log.line(/The queue on Redis/)).toMatch(/check that a Redis listens there/);
      await app.close();
      await postgres.dispose();
    });
  });
});
