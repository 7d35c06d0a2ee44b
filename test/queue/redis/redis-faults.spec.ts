import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { GuardedChild } from '../../support/child-process.js';
import { deferred } from '../../support/deferred.js';
import { describeRedis } from '../../support/describe-backend.js';
import { messageIds } from '../../support/message-ids.js';
import { eventsIn } from '../../support/received-message.js';
import { DEMOTED, NO_SNAPSHOTS, OUT_OF_MEMORY, type RedisRefusal } from '../../support/redis-refusals.js';
import { RedisServer } from '../../support/redis-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

/** Destinations that are down, so many that messages for several of them are put back together. */
const DOWN = messageIds('down', 10);
/** Match the commands that put back two jobs, and the answer to the first, by the ends of the jobs' ids. */
const TWO_PUT_BACK = /-d[0-9a-f]{8}\b[^]*\bevalsha\b[^]*-d[0-9a-f]{8}\b/i;
const FIRST_PUT_BACK = /^[^]*?-d[0-9a-f]{8}\r\n/;

const STANDING_STILL = new URL('./children/standing-still.ts', import.meta.url);

describeRedis('a Redis that answers and stores nothing', () => {
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

  /** Starts an application whose queue refuses jobs and takes them again, twice. Resolves to its log. */
  async function logOf(refusal: RedisRefusal): Promise<string[]> {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: server.url(), webhooks: webhooksTo(receiver) });
    for (const times of [1, 2]) {
      await refusal.begin(admin, server);
      app.analytics.track({ userId: 'u1', event: `Refused ${times}` });
      app.analytics.track({ userId: 'u2', event: `Refused ${times}` });
      await linesOf(app, /takes no more jobs/, times);
      await refusal.end(admin, server);
      await linesOf(app, /is back after/, times);
    }
    await receiver.received(4);
    await app.settled();
    return app.log.analytics;
  }

  it.each([
    ['its memory is full', OUT_OF_MEMORY],
    ['it cannot write to its disk', NO_SNAPSHOTS],
  ])('is reported each time, and so is its recovery: %s', async (words, refusal) => {
    const begin = new RegExp(
      `^warn: .* on Redis takes no more jobs \\(${words}.*${refusal.code}\\)\\. Calls are kept in memory, \\d+ so far`,
    );
    const outage = [
      expect.stringMatching(begin),
      expect.stringMatching(/^log: The queue on Redis is back after/),
    ];
    expect(await logOf(refusal)).toEqual([...outage, ...outage]);
  });

  it('records deliveries when it takes jobs again, so that nothing is delivered twice', async () => {
    const answers: (() => void)[] = [];
    const receiver = await stage.receiver({
      answer: () =>
        new Promise<number>((resolve) =>
          answers.push(() => {
            resolve(200);
          }),
        ),
    });
    const app = await stage.app({ connection: server.url(), webhooks: webhooksTo(receiver), flushAt: 1 });
    for (const event of ['First', 'Second']) app.analytics.track({ userId: 'u1', event });
    await receiver.received(2);
    await DEMOTED.begin(admin, server);
    for (const answer of answers.splice(0)) answer();
    await app.log.line(/takes no more jobs/);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await DEMOTED.end(admin, server);
    await app.log.line(/is back after/);
    app.analytics.track({ userId: 'u1', event: 'Third' });
    await receiver.received(3);
    for (const answer of answers) answer();
    await app.settled();
    expect(eventsIn(receiver.requests)).toEqual(['First', 'Second', 'Third']);
  });

  it('hands jobs out again after it was silent for longer than their locks, and nothing is delivered twice', async () => {
    let answer: (status: number) => void = () => undefined;
    const answered = new Promise<number>((resolve) => (answer = resolve));
    const receiver = await stage.receiver({ answer: () => answered });
    const webhooks = webhooksTo(receiver, { timeout: 3_000 });
    const app = await stage.app({ connection: server.url(), webhooks });
    app.analytics.track({ userId: 'u1', event: 'Once' });
    await app.analytics.flush();
    await receiver.received(1);
    server.pause();
    answer(200);
    // The lock lasts six seconds.
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    server.resume();
    await app.settled();
    expect(await app.queue.getCompletedCount()).toBe(1);
    expect(receiver.requests).toHaveLength(1);
  });

  it('is asked for a job about once a second while jobs wait, which are delivered when it takes jobs again', async () => {
    const receiver = await stage.receiver();
    const options = { connection: server.url(), webhooks: webhooksTo(receiver) };
    const producer = await stage.app({ ...options, worker: false });
    for (let n = 0; n < 100; n++) {
      producer.analytics.track({ userId: 'u1', event: 'Waits' });
      await producer.analytics.flush();
    }
    await OUT_OF_MEMORY.begin(admin, server);
    const worker = await stage.app(options);
    await worker.log.line(/takes no more jobs/);

    await admin.config('RESETSTAT');
    // The package asks twice whether it may write again, which it does once a second.
    await until(async () => (await callsOf(admin, 'eval')) >= 2 || undefined);
    expect(await callsOf(admin, 'evalsha')).toBeLessThan(50);

    await OUT_OF_MEMORY.end(admin, server);
    await receiver.received(100);
    await worker.settled();
    expect(receiver.requests).toHaveLength(100);
    // The package asks once a second, and may have delivered everything before.
    await worker.log.line(/is back after/);
    expect(worker.log.analytics).toEqual([
      expect.stringMatching(/takes no more jobs/),
      expect.stringMatching(/is back after/),
    ]);
  });

  it('is left for the new master when it was demoted', async () => {
    const master = await RedisServer.create({ appendOnly: true });
    const proxy = await stage.add(TcpProxy.start(server));
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: proxy.through(server.url()), webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await receiver.received(1);
    await app.settled();

    proxy.turnTo(master);
    await admin.replicaof('127.0.0.1', master.port);
    app.analytics.track({ userId: 'u1', event: 'After' });
    await receiver.received(2);
    await app.log.line(/is back/);
    expect(eventsIn(receiver.requests)).toEqual(['After', 'Before']);
    expect(app.log.analytics).toEqual([
      expect.stringMatching(/takes no more jobs \(it (is|became) a replica/),
      expect.stringMatching(/is back after/),
    ]);
    await app.close();
    await master.dispose();
  });

  it('is logged at most five times a minute when it resets its connections every 200 ms', async () => {
    const proxy = await stage.add(TcpProxy.start(server));
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: proxy.through(server.url()), webhooks: webhooksTo(receiver) });
    const resets = setInterval(() => {
      proxy.reset();
    }, 200);
    for (let n = 0; n < 25; n++) {
      app.analytics.track({ userId: 'u1', event: 'Under resets' });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    clearInterval(resets);
    await app.analytics.flush();
    await app.settled();
    expect(proxy.accepted).toBeGreaterThan(15);
    expect(app.log.analytics.length).toBeGreaterThan(0);
    expect(app.log.analytics.length).toBeLessThanOrEqual(5);
  });
});

describeRedis(
  'a Redis whose connection breaks between the answers to commands that were sent together',
  () => {
    const stage = new Stage();
    let server: RedisServer;

    beforeEach(async () => {
      server = await RedisServer.create();
    });
    afterEach(() => server.dispose());

    it('gets unanswered commands again when deliveries are recorded, so that nothing is delivered twice', async () => {
      const all = ['up', ...DOWN];
      const tried = deferred();
      const receiver = await stage.receiver({
        answer: async ({ url }, index) => {
          if (index >= all.length) return 200;
          if (index === all.length - 1) tried.resolve();
          await tried.promise;
          return url === '/up' ? 200 : 503;
        },
      });
      const proxy = await stage.add(TcpProxy.start(server));
      const app = await stage.app({
        connection: proxy.through(server.url()),
        webhooks: all.map((id) => webhooksTo(receiver, { id, urls: [receiver.url(`/${id}`)] })),
      });
      const broken = proxy.breakWithin(TWO_PUT_BACK, FIRST_PUT_BACK);
      app.analytics.track({ userId: 'u1', event: 'Shared' });
      await app.analytics.flush();
      await broken;
      await app.settled();
      const paths = receiver.requests.map(({ url }) => url);
      expect(paths.sort()).toEqual([...all, ...DOWN].map((id) => `/${id}`).sort());
      expect(app.log.errors).toEqual([]);
    });
  },
);

async function callsOf(admin: Redis, command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

async function linesOf(app: AnalyticsApp, pattern: RegExp, count: number): Promise<void> {
  await until(() => app.log.analytics.filter((line) => pattern.test(line)).length >= count || undefined);
}

describeRedis('a process that stands still for longer than Redis may be silent', () => {
  let server: RedisServer;
  beforeEach(async () => {
    server = await RedisServer.create();
  });
  afterEach(() => server.dispose());

  it('reads what Redis has answered meanwhile, and does not report Redis as silent', async () => {
    const child = await GuardedChild.startScript(STANDING_STILL, [server.url()]);
    await child.waitFor(/^goes on$/);
    expect(await child.waitFor(/does not answer|^delivered$/)).toBe('delivered');
    await child.exited;
  });
});
