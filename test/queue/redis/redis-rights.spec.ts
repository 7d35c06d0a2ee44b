import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { AudiencesService, DeliveriesService, DestinationsService } from '../../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../../support/analytics-app.js';
import { describeRedis } from '../../support/describe-backend.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { RedisServer } from '../../support/redis-server.js';
import { eventsIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const USER = 'analytics';
const PASSWORD = 'secret';

describeRedis('the user of a Redis', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;
  let documented: string[];
  let receiver: Receiver;

  beforeAll(async () => {
    server = await RedisServer.create();
    admin = new Redis(server.url());
    documented = await documentedRules();
  });
  afterAll(async () => {
    admin.disconnect();
    await server.dispose();
  });
  beforeEach(async () => {
    receiver = await stage.receiver();
    await admin.flushall();
  });
  afterEach(() => admin.call('ACL', 'DELUSER', USER));

  function setUser(...rules: string[]): Promise<unknown> {
    return admin.call('ACL', 'SETUSER', USER, ...rules);
  }

  function start(options: Partial<AppOptions> = {}, database = 0): Promise<AnalyticsApp> {
    const connection = server.url(database).replace('//', `//${USER}:${PASSWORD}@`);
    return stage.app({ connection, flushAt: 1, webhooks: webhooksTo(receiver), ...options });
  }

  it('may be denied dangerous commands, `info` for example', async () => {
    await setUser('on', `>${PASSWORD}`, '~*', '+@all', '-@dangerous');
    receiver = await stage.receiver({ answer: [503, 200] });
    const app = await start();
    app.analytics.track({ userId: 'u1', event: 'Retried' });
    expect(await app.analytics.flush()).toMatchObject({ queued: 1, pending: 0 });
    await receiver.received(2);
    await app.settled();
    expect(app.analytics.status().queue).toBe('up');
    expect(app.log.analytics.filter((line) => line.includes('queue'))).toEqual([]);
  });

  it('needs no other rights than those in the documentation', async () => {
    await setUser(...documented);
    const answers = await stage.receiver({ answer: [503, 400, 200] });
    const app = await start(
      {
        webhooks: webhooksTo(answers, { rateLimit: 1_000, backlogLimit: 100 }),
        destinations: { allowPrivateNetwork: true, encryptionKey: false },
        partitions: 3,
      },
      3,
    );
    const deliveries = app.context.get(DeliveriesService);
    app.analytics.track({ userId: 'u1', event: 'Fails' });
    await app.failedJobs();
    expect(await deliveries.replay()).toBe(1);
    await answers.received(3);
    await app.settled();

    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    await destinations.update(id, { description: 'Changed' });
    app.analytics.tenant('acme').track({ userId: 'u2', event: 'Of a tenant' });
    await receiver.received(1);
    expect((await destinations.list({ tenant: 'acme' })).destinations).toHaveLength(1);
    expect(await until(async () => (await deliveries.recent({ destination: id })).at(0))).toBeDefined();
    await destinations.delete(id);

    const audiences = app.context.get(AudiencesService);
    await audiences.sync('Big spenders', ['u1', 'u2']);
    app.analytics.delete({ userId: 'u1' });
    await app.analytics.flush();
    await app.settled();
    expect(await deliveries.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 0 });
    expect(await deliveries.totals()).toBeDefined();
    expect(app.log.analytics.filter((line) => line.includes('NOPERM'))).toEqual([]);
    expect(deniedIn(await admin.call('ACL', 'LOG'))).toEqual([]);
  });

  it.each(['xadd', 'bzpopmin', 'select'])(
    'is reported with the missing right, and all is delivered when it is granted: %s',
    async (command) => {
      await setUser(...documented, `-${command}`);
      const app = await start({}, 5);
      await app.log.line(new RegExp(`takes no more jobs \\(the user may not run \`${command}\`, NOPERM\\)`));
      app.analytics.track({ userId: 'u1', event: 'Waits' });
      // Once a second, the package checks whether it may store something, or reconnects.
      const asking = command === 'select' ? 'hello' : 'eval';
      const asked = await callsOf(asking);
      await until(async () => (await callsOf(asking)) > asked + 2 || undefined);
      expect(app.analytics.status().queue).toBe('refusing');

      await setUser(`+${command}`);
      await receiver.received(1);
      await app.log.line(/is back after/);
      expect(app.log.analytics).toHaveLength(2);
      expect(eventsIn(receiver.requests)).toEqual(['Waits']);
    },
  );

  it('is reported with the keys that it may not use when a `prefix` has moved those of rate limits', async () => {
    await setUser(...documented);
    const app = await start({
      prefix: 'shop',
      webhooks: [
        { ...webhooksTo(receiver, { rateLimit: 1_000 }), id: 'limited' },
        { ...webhooksTo(receiver), id: 'other' },
      ],
    });
    app.analytics.track({ userId: 'u1', event: 'Waits' });
    await app.log.line(
      /Redis user has no access to the rate-limit keys \(NOPERM\): grant it `~shop:nestjs-analytics:\*`/,
    );
    await receiver.received(1);
    expect(app.analytics.status().queue).toBe('up');

    await setUser('~shop:nestjs-analytics:*');
    await receiver.received(2);
    await app.settled();
    expect(new Set(app.log.analytics).size).toBe(1);
  });

  it('needs two more rights on a Redis Cluster', async () => {
    const cluster = await RedisCluster.create();
    for (const node of cluster.servers) {
      const rules = [...documented, '-select', '+cluster|slots', '+cluster|info'];
      await cluster.admin(node).call('ACL', 'SETUSER', USER, ...rules);
    }
    const redisOptions = { username: USER, password: PASSWORD };
    const app = await start({ connection: { ...cluster.connection, redisOptions } });
    app.analytics.track({ userId: 'u1', event: 'Sent' });
    await receiver.received(1);
    await app.settled();
    expect(app.log.analytics).toEqual([]);
    for (const node of cluster.servers)
      expect(deniedIn(await cluster.admin(node).call('ACL', 'LOG'))).toEqual([]);
    await app.close();
    await cluster.dispose();
  });

  async function callsOf(command: string): Promise<number> {
    const stats = await admin.info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  }
});

/** Resolves to the documented ACL rules, without the name of the user. */
async function documentedRules(): Promise<string[]> {
  const text = await readFile(new URL('../../../docs/queues.md', import.meta.url), 'utf8');
  const [, command = ''] = /\nACL SETUSER \S+ ([^`]+)/.exec(text) ?? [];
  return command.trim().split(/\s+/);
}

/** Returns the refusals in an ACL log, except for commands that clients try and can do without. */
function deniedIn(log: unknown): string[] {
  const entries = Array.isArray(log) ? log.map(String) : [];
  return entries.filter((entry) => !/,object,(info|config\|get|client\|\w+),/.test(entry));
}
