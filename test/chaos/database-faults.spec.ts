import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { describeRedis, describeServers, describeWith } from '../support/describe-backend.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { DEMOTED, NO_SNAPSHOTS, OUT_OF_MEMORY } from '../support/redis-refusals.js';
import { PostgresServer } from '../support/postgres-server.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { terminateSessions } from '../support/terminations.js';

const TERMINATIONS = 200;
const ROUNDS = 5;
const MINUTE = 60_000;

describeWith('postgres', PostgresServer.installed, 'a PostgreSQL that ends sessions at any moment', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  it.each(['boot', 'steady'] as const)(
    'never ends the host process, in two hundred terminations (%s)',
    async (mode) => {
      const url = await server.createDatabase();
      const report = await terminateSessions(url, mode, TERMINATIONS);
      expect(report.survived).toBe(true);
      expect(report.terminated).toBeGreaterThanOrEqual(TERMINATIONS);
    },
    5 * MINUTE,
  );
});

/** Tracks continuously while a fault comes and goes, and resolves to the messages that never arrived. */
async function lostIn(
  connection: string,
  stage: Stage,
  fault: (proxy: TcpProxy) => Promise<void>,
): Promise<{ lost: string[]; app: AnalyticsApp }> {
  const proxy = await stage.add(TcpProxy.start({ port: Number(new URL(connection).port) }));
  const receiver = await stage.receiver();
  const app = await stage.app({
    connection: proxy.through(connection),
    webhooks: webhooksTo(receiver, { timeout: 2_000, retryWindow: 600_000 }),
  });
  const ids: string[] = [];
  const load = setInterval(() => ids.push(app.analytics.track({ userId: 'u1', event: 'Under load' })), 10);
  for (let round = 0; round < ROUNDS; round++) {
    await fault(proxy);
    await pause(2_000);
  }
  clearInterval(load);
  await app.analytics.flush();
  await app.settled();
  const arrived = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']));
  return { lost: ids.filter((id) => !arrived.has(id)), app };
}

describeServers('a queue under load, behind a proxy that misbehaves', (backend) => {
  const stage = new Stage();

  it(
    'loses nothing when its connections swallow bytes',
    async () => {
      const { lost } = await lostIn(backend.connection, stage, async (proxy) => {
        proxy.swallowOpen();
        await pause(20_000);
      });
      expect(lost).toEqual([]);
    },
    5 * MINUTE,
  );

  it(
    'loses nothing when its server stands still',
    async () => {
      const { lost } = await lostIn(backend.connection, stage, async () => {
        backend.server.pause();
        await pause(20_000);
        backend.server.resume();
      });
      expect(lost).toEqual([]);
    },
    5 * MINUTE,
  );

  it(
    'loses nothing, and logs at most five lines a minute, when its connections are reset every 200 ms',
    async () => {
      const startedAt = performance.now();
      const { lost, app } = await lostIn(backend.connection, stage, async (proxy) => {
        for (let times = 0; times < 60; times++) {
          proxy.reset();
          await pause(200);
        }
      });
      expect(lost).toEqual([]);
      const minutes = Math.ceil((performance.now() - startedAt) / MINUTE);
      expect(app.log.analytics.slice(5 * minutes)).toEqual([]);
    },
    5 * MINUTE,
  );
});

describeRedis('a queue under load, on a Redis that answers and stores nothing', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;
  beforeEach(async () => {
    server = await RedisServer.create({ appendOnly: true });
    admin = new Redis(server.url());
  });
  afterEach(async () => {
    admin.disconnect();
    await server.dispose();
  });

  it.each([OUT_OF_MEMORY, NO_SNAPSHOTS, DEMOTED])(
    'loses nothing, and logs the reason and the end of the outage: $code',
    async (refusal) => {
      const { lost, app } = await lostIn(server.url(), stage, async () => {
        await refusal.begin(admin, server);
        await pause(10_000);
        await refusal.end(admin, server);
      });
      expect(lost).toEqual([]);
      const lines = app.log.analytics.join('\n');
      expect(lines).toContain(`${refusal.code}). Calls are kept in memory`);
      expect(lines).toMatch(/is back after/);
    },
    5 * MINUTE,
  );
});

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
