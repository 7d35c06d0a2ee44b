import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { AnalyticsHealthIndicator, type AnalyticsHealthOptions, DeliveriesService } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeRedis, describeServers } from '../support/describe-backend.js';
import { quickConnections } from '../support/quick-connections.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const newConnection = quickConnections();

const REFUSING = { urls: ['http://127.0.0.1:1/'], allowPrivateNetwork: true };

function refuse(): never {
  throw new Error('No.');
}

function healthOf(app: AnalyticsApp): AnalyticsHealthIndicator {
  return app.context.get(AnalyticsHealthIndicator);
}

describeServers('the health indicator of a process without a worker', (backend) => {
  const stage = new Stage();

  it('is up while the queue answers, and shows how many messages wait', async () => {
    const app = await stage.app({ connection: backend.connection, worker: false, webhooks: REFUSING });
    app.analytics.track({ userId: 'u1', event: 'Waiting' });
    await app.analytics.flush();
    const health = await until(async () => {
      const { analytics } = await healthOf(app).isHealthy('analytics', { timeout: 10_000 });
      return analytics.waiting === 1 ? analytics : undefined;
    });
    expect(health).toEqual({
      status: 'up',
      queue: 'up',
      buffered: { messages: 0, bytes: 0 },
      refused: 0,
      worker: 'none',
      endpointsDown: [],
      waiting: 1,
      oldest: expect.any(Number),
    });
  });

  it('waits for the queue however long it takes if the timeout is `Infinity`', async () => {
    const app = await stage.app({ connection: backend.connection, worker: false, webhooks: REFUSING });
    await until(() => (app.analytics.status().queue === 'up' ? true : undefined));
    const { analytics } = await healthOf(app).isHealthy('analytics', { timeout: Infinity });
    expect(analytics).toMatchObject({ status: 'up', waiting: 0 });
  });

  it('is down if too many messages wait, if a job waits too long, or if there is no required worker', async () => {
    const app = await stage.app({ connection: backend.connection, worker: false, webhooks: REFUSING });
    for (let n = 0; n < 3; n++) app.analytics.track({ userId: 'u1', event: 'Waiting' });
    await app.analytics.flush();
    const limits = { timeout: 10_000, maxWaiting: 2, oldest: 0, requireWorker: true };
    const health = await until(async () => {
      const { analytics } = await healthOf(app).isHealthy('analytics', limits);
      return analytics.waiting === 3 ? analytics : undefined;
    });
    expect(health.status).toBe('down');
    expect(health.reasons).toEqual([
      '3 messages wait for delivery, more than 2.',
      expect.stringMatching(/^A job has waited for a worker for \d+ ms, more than 0 ms\.$/),
      'This process has no worker.',
    ]);
  });

  it('shows the age of the oldest waiting job, whatever is added after it', async () => {
    const app = await stage.app({ connection: backend.connection, worker: false, webhooks: REFUSING });
    const oldest = async (): Promise<number> => {
      const { analytics } = await healthOf(app).isHealthy('analytics', { timeout: 10_000 });
      return analytics.oldest ?? 0;
    };
    app.analytics.track({ userId: 'u1', event: 'First' });
    await app.analytics.flush();
    await until(async () => ((await oldest()) > 500 ? true : undefined));
    app.analytics.track({ userId: 'u1', event: 'Second' });
    await app.analytics.flush();
    expect(await oldest()).toBeGreaterThan(500);
  });
});

describeServers('the health indicator', (backend) => {
  const stage = new Stage();

  it('answers within its timeout while the server is frozen, and is down', async () => {
    const app = await stage.app({ connection: backend.connection, webhooks: REFUSING, shutdownTimeout: 500 });
    await until(() => (app.analytics.status().queue === 'up' ? true : undefined));
    backend.server.pause();
    try {
      const { analytics } = await healthOf(app).isHealthy('analytics', { timeout: 50 });
      expect(analytics).toMatchObject({
        status: 'down',
        reasons: ['The queue did not answer within 50 ms.'],
        worker: 'running',
      });
      expect(analytics).not.toHaveProperty('waiting');
    } finally {
      backend.server.resume();
    }
  });

  it('is down while the server is away, and up when it is back', async () => {
    const app = await stage.app({ connection: backend.connection, webhooks: REFUSING, shutdownTimeout: 500 });
    await backend.server.stop();
    await until(() => (app.analytics.status().queue === 'down' ? true : undefined));
    app.analytics.track({ userId: 'u1', event: 'Kept' });
    expect(app.analytics.status().buffered.messages).toBe(1);
    expect((await healthOf(app).isHealthy('analytics', { timeout: 50 })).analytics.reasons).toEqual([
      'The queue cannot be reached or does not answer.',
    ]);
    await backend.server.start();
    await until(async () => {
      const { analytics } = await healthOf(app).isHealthy('analytics', { timeout: 5_000 });
      return analytics.status === 'up' ? true : undefined;
    });
  });
});

describe('the health indicator of a process that delivers nothing', () => {
  const stage = new Stage();

  it.each([
    ['analytics is switched off', { enabled: false, webhooks: REFUSING }],
    ['there is no destination', {}],
  ])('is up without a worker, which is not required since %s', async (_, options) => {
    const app = await stage.app({ connection: 'redis://127.0.0.1:1', ...options });
    const { analytics } = await healthOf(app).isHealthy('analytics', { requireWorker: true });
    expect(analytics).toMatchObject({ status: 'up', worker: 'none', waiting: 0, oldest: 0 });
  });
});

describe('the limits of a health check', () => {
  const stage = new Stage();

  it.each([
    ['timeout', -1, '-1 (number)'],
    ['maxWaiting', Number.NaN, 'NaN (number)'],
    ['oldest', '500', '"500" (string)'],
    ['oldestInOutbox', null, 'null'],
  ])('fail the check with a reason if `%s` is not a number of 0 or more', async (name, limit, given) => {
    const app = await stage.app({ enabled: false });
    const { analytics } = await healthOf(app).isHealthy('analytics', { [name]: limit });
    expect(analytics).toMatchObject({
      status: 'down',
      reasons: [`Expected \`${name}\` to be a number >= 0, got ${given}.`],
    });
  });

  it.each<[unknown, string]>([
    [{ maxwaiting: 5 }, '`isHealthy()` has no `maxwaiting`. Did you mean `maxWaiting`?'],
    [{ requiresWorker: undefined }, '`isHealthy()` has no `requiresWorker`. Did you mean `requireWorker`?'],
    [{ requireWorker: 'yes' }, 'Expected `requireWorker` to be a boolean, got "yes" (string).'],
    [500, 'Expected `options` to be an object, got a number.'],
    [null, 'Expected `options` to be an object, got null.'],
  ])('fail the check if they are %p, which would limit nothing', async (limits, reason) => {
    const app = await stage.app({ enabled: false });
    const { analytics } = await healthOf(app).isHealthy('analytics', limits as AnalyticsHealthOptions);
    expect(analytics).toMatchObject({ status: 'down', reasons: [reason] });
  });
});

describe('the status', () => {
  const stage = new Stage();

  it('names all URLs that are down, while a health check names the first 20', async () => {
    const receiver = await stage.receiver({ answer: () => 503 });
    const webhooks = Array.from({ length: 22 }, (_, n) => webhooksTo(receiver, { id: `crm${n}` }));
    const app = await stage.app({ connection: await newConnection(), webhooks });
    for (let n = 0; n < 5; n++) app.analytics.track({ userId: 'u1', event: 'Paid' });
    const { endpointsDown } = await until(() => {
      const status = app.analytics.status();
      return status.endpointsDown.length === 22 ? status : undefined;
    });
    const { analytics } = await healthOf(app).isHealthy('analytics', { timeout: 10_000 });
    expect(analytics).toMatchObject({
      status: 'up',
      endpointsDown: endpointsDown.slice(0, 20),
      moreEndpointsDown: 2,
    });
    expect(analytics.endpointsDown).toHaveLength(20);
  });

  it('names the URLs that are down until they take messages again', async () => {
    let isDown = true;
    const receiver = await stage.receiver({ answer: () => (isDown ? 503 : 200) });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { id: 'crm', retryWindow: 20_000 }),
    });
    const events: string[] = [];
    app.context.get(DeliveriesService).endpoints$.subscribe(({ type }) => events.push(type));
    for (let n = 0; n < 5; n++) app.analytics.track({ userId: 'u1', event: 'Paid' });
    await until(() => (events.includes('down') ? true : undefined));
    expect(app.analytics.status().endpointsDown).toEqual([
      {
        destination: 'crm',
        url: expect.any(String),
        origin: new URL(receiver.url()).origin,
        since: expect.any(Number),
      },
    ]);
    const { analytics } = await healthOf(app).isHealthy('analytics', { timeout: 10_000 });
    expect(analytics.status).toBe('up');
    isDown = false;
    await until(() => (events.includes('up') ? true : undefined));
    expect(app.analytics.status().endpointsDown).toEqual([]);
  });

  it('counts refused messages from the start, including those that a flush has returned', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      beforeSend: refuse,
      webhooks: REFUSING,
    });
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    expect((await app.analytics.flush()).refused).toBe(1);
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    expect(app.analytics.status().refused).toBe(2);
  });

  it('says that the worker has stopped once the application shuts down', async () => {
    const app = await stage.app({ connection: await newConnection(), webhooks: REFUSING });
    expect(app.analytics.status().worker).toBe('running');
    const { analytics } = app;
    await app.close();
    expect(analytics.status().worker).toBe('stopped');
  });
});

describeRedis('the health indicator while large jobs wait', () => {
  const stage = new Stage();
  const MESSAGES = 40;
  const SIZE = 20_000;
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

  /** Resolves to the number of bytes that the server has sent so far. */
  async function sent(): Promise<number> {
    return Number(/total_net_output_bytes:(\d+)/.exec(await admin.info('stats'))?.[1]);
  }

  it('reads none of their messages', async () => {
    const app = await stage.app({ connection: server.url(), worker: false, flushAt: 1, webhooks: REFUSING });
    for (let n = 0; n < MESSAGES; n++) {
      app.analytics.track({ userId: 'u1', event: 'Large', properties: { text: 'x'.repeat(SIZE) } });
    }
    await app.analytics.flush();
    const before = await sent();
    const { analytics } = await healthOf(app).isHealthy('analytics', { timeout: 10_000 });
    expect(analytics.oldest).toBeGreaterThan(0);
    expect((await sent()) - before).toBeLessThan(SIZE);
  });
});
