import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PGlite } from '@electric-sql/pglite';
import { metrics } from '@opentelemetry/api';
import {
  DataPointType,
  type MetricData,
  type PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { type CustomDestination, DestinationsService } from '../../src/index.js';
import {
  describeAnyServer,
  describeServers,
  describeServersOrEmbedded,
} from '../support/describe-backend.js';
import { newMetricReader } from '../support/metric-reader.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const newConnection = quickConnections();

const KEY = Buffer.alloc(32, 7).toString('base64');

let reader: PeriodicExportingMetricReader;

/** Resolves to the current metrics by their names without the prefix: attributes and value of each point. */
async function collected(): Promise<Map<string, [attributes: object, value: unknown][]>> {
  const { resourceMetrics, errors } = await reader.collect();
  expect(errors).toEqual([]);
  const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  return new Map(
    all.map((metric) => [metric.descriptor.name.replace('nestjs_analytics.', ''), pointsOf(metric)]),
  );
}

function pointsOf({ dataPointType, dataPoints }: MetricData): [object, unknown][] {
  if (dataPointType === DataPointType.HISTOGRAM)
    return dataPoints.map(({ attributes, value }) => [attributes, value.count]);
  return dataPoints.map(({ attributes, value }) => [attributes, value]);
}

beforeAll(() => {
  reader = newMetricReader();
});

afterAll(() => {
  metrics.disable();
});

/** Resolves to the value of the point with these attributes. Other suites share the meter. */
async function valueOf(metric: string, attributes: object): Promise<unknown> {
  const points = (await collected()).get(metric) ?? [];
  return points.find(([own]) => JSON.stringify(own) === JSON.stringify(attributes))?.[1];
}

/** Resolves to the numbers of messages that were refused for each of these reasons. */
async function refused(...reasons: string[]): Promise<number[]> {
  const found: number[] = [];
  for (const reason of reasons) found.push(Number((await valueOf('messages.refused', { reason })) ?? 0));
  return found;
}

describeServersOrEmbedded('the metrics', (backend) => {
  const stage = new Stage();
  const names = { id: `shop-${backend.name}`, source: `web-${backend.name}` };

  it('count messages taken, queued, tried and delivered, and measure requests and whole deliveries in seconds', async () => {
    const { connection } = backend;
    const receiver = await stage.receiver({ answer: [503, 200] });
    const app = await stage.app({
      connection,
      sources: [{ name: names.source, writeKey: 'wk' }],
      webhooks: webhooksTo(receiver, { id: names.id, retryWindow: 4_000 }),
    });
    app.analytics.track({ userId: 'u1', event: 'Paid' });
    await app.analytics.flush();
    await receiver.received(2);
    const destination = names.id;
    await until(async () => await valueOf('delivery.latency', { destination }));
    const found = await collected();
    const own = (metric: string): [object, unknown][] =>
      (found.get(metric) ?? []).filter(([attributes]) => Object.values(attributes).includes(destination));
    expect(await valueOf('messages.taken', { source: names.source })).toBe(1);
    expect(own('messages.queued')).toEqual([[{ destination }, 1]]);
    const attempts = [
      [{ destination, class: 'retry' }, 1],
      [{ destination, class: 'delivered' }, 1],
    ];
    expect(own('delivery.attempts')).toEqual(attempts);
    expect(own('delivery.duration')).toEqual(attempts);
    expect(own('delivery.latency')).toEqual([[{ destination }, 1]]);
  });

  it('show the queue, the buffer and the URLs that are down', async () => {
    const app = await stage.app({
      connection: backend.connection,
      webhooks: { id: names.id, urls: ['http://127.0.0.1:1/'], allowPrivateNetwork: true },
    });
    for (let n = 0; n < 5; n++) app.analytics.track({ userId: 'u1', event: 'Paid' });
    const { buffered } = app.analytics.status();
    // Collected at once: the messages leave the buffer a second later.
    const found = await collected();
    expect(found.get('buffer.messages')).toEqual([[{}, 5]]);
    expect(found.get('buffer.usage')).toEqual([[{}, buffered.bytes]]);
    expect(found.get('endpoints.down')).toContainEqual([{ destination: names.id }, 0]);
    await app.analytics.flush();
    const isDown = async (): Promise<true | undefined> =>
      (await valueOf('endpoints.down', { destination: names.id })) === 1 ? true : undefined;
    await until(isDown);
    const jobs = await until(async () => {
      const points = (await collected()).get('queue.jobs');
      return points?.some(([, value]) => value === 1) === true ? points : undefined;
    });
    expect(jobs.map(([attributes]) => attributes)).toEqual([
      { state: 'waiting' },
      { state: 'active' },
      { state: 'delayed' },
      { state: 'failed' },
    ]);
    expect(jobs.reduce((sum, [, value]) => sum + Number(value), 0)).toBe(1);
    expect(await until(() => valueOf('queue.oldest', {}))).toEqual(expect.any(Number));
  });

  it('show the messages that wait in a paused queue', async () => {
    const { connection } = backend;
    const webhooks = { id: names.id, urls: ['http://127.0.0.1:1/'], allowPrivateNetwork: true };
    const app = await stage.app({ connection, worker: false, webhooks });
    const [queue] = app.queues;
    await queue?.pause();
    const before = await until(() => valueOf('queue.jobs', { state: 'waiting' }));
    app.analytics.track({ userId: 'u1', event: 'Paid' });
    await app.analytics.flush();
    // On a busy machine the first count may have taken long, and is then used for a while.
    await until(async () =>
      (await valueOf('queue.jobs', { state: 'waiting' })) === Number(before) + 1 ? true : undefined,
    );
    await queue?.resume();
  });

  it('count messages that a destination with a full backlog refuses, even if another destination takes them', async () => {
    const [before = 0] = await refused('backlog_full');
    const { connection } = backend;
    const [crm, mail] = [await stage.receiver({ answer: [503] }), await stage.receiver()];
    const webhooks = [
      webhooksTo(crm, { id: 'crm', backlogLimit: 2, retryWindow: 60_000 }),
      webhooksTo(mail, { id: 'mail' }),
    ];
    const app = await stage.app({ connection, webhooks });
    // All in one burst, so that none of them is in the queue when the last is tracked.
    for (let n = 0; n < 5; n++) app.analytics.track({ userId: 'u1', event: 'Paid' });
    app.analytics.track({ userId: 'u1', event: 'Paid', integrations: { mail: false } });
    expect(await app.analytics.flush()).toMatchObject({ refused: 4 });
    expect(await refused('backlog_full')).toEqual([before + 4]);
  });

  it('count failed messages that were removed because their destination had too many', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const id = `dead-${backend.name}`;
    const app = await stage.app({
      connection: backend.connection,
      flushAt: 1,
      webhooks: webhooksTo(receiver, { id, failedLimit: 1 }),
    });
    // Each message in a job of its own, because whole jobs are removed.
    for (let n = 1; n <= 3; n++) {
      app.analytics.track({ userId: 'u1', event: 'Failed' });
      await app.analytics.flush();
      await app.settled();
    }
    await until(async () =>
      (await valueOf('messages.removed', { destination: id })) === 2 ? true : undefined,
    );
  });
});

describeAnyServer('the metrics', (backend) => {
  const stage = new Stage();

  it('add up over the applications of a process, even while one of them shuts down', async () => {
    const receiver = await stage.receiver();
    const source = `closed-${backend.name}`;
    const options = {
      connection: backend.connection,
      sources: [{ name: source, writeKey: 'wk' }],
      webhooks: webhooksTo(receiver),
    };
    const first = await stage.app(options);
    first.analytics.track({ userId: 'u1', event: 'Paid' });
    await first.close();
    expect(await valueOf('messages.taken', { source })).toBe(1);
    const second = await stage.app(options);
    second.analytics.track({ userId: 'u1', event: 'Paid' });
    expect(await valueOf('messages.taken', { source })).toBe(2);
    await receiver.received(2);
    second.analytics.track({ userId: 'u1', event: 'Paid' });
    await second.close();
    expect(await valueOf('messages.taken', { source })).toBe(3);
  });

  it('count refused messages by a fixed set of reasons', async () => {
    const counts = (): Promise<number[]> => refused('before_send', 'buffer_full', 'schema');
    const before = await counts();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: { urls: ['http://127.0.0.1:1/'], allowPrivateNetwork: true },
      maxBufferedBytes: 0,
      events: { Signed: z.object({ plan: z.string() }) },
      onViolation: 'drop',
      beforeSend: (message) => {
        if (message.userId === 'u2') throw new Error('Not u2.');
        return message;
      },
    });
    app.analytics.track({ userId: 'u1', event: 'Paid' });
    app.analytics.track({ userId: 'u2', event: 'Paid' });
    app.analytics.track({ userId: 'u1', event: 'Signed', properties: { plan: 1 } });
    expect(await counts()).toEqual(before.map((count) => count + 1));
  });

  it('count messages whose destinations could not be looked up', async () => {
    const [before = 0] = await refused('lookup_failed');
    const app = await stage.app({
      connection: backend.connection,
      destinations: {
        encryptionKey: KEY,
        tenant: () => {
          throw new Error('no tenant');
        },
      },
    });
    for (let n = 0; n < 3; n++) app.analytics.track({ userId: 'u1', event: 'Paid' });
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 3, pending: 0 });
    expect(await refused('lookup_failed')).toEqual([before + 3]);
  });

  it('count deletions that no other program accepts', async () => {
    const [before = 0] = await refused('forwarded_deletion');
    const remote = await stage.receiver();
    const app = await stage.app({ connection: backend.connection, endpoint: remote.url() });
    app.analytics.delete({ userId: 'u1' });
    expect(await app.analytics.flush()).toMatchObject({ refused: 1 });
    expect(await refused('forwarded_deletion')).toEqual([before + 1]);
  });

  it('name custom destinations by their ids, including those that are classes', async () => {
    const [lake, warehouse] = [`lake-${backend.name}`, `warehouse-${backend.name}`];
    class Warehouse implements CustomDestination {
      readonly id = warehouse;

      async deliver(): Promise<void> {
        await Promise.resolve();
      }
    }
    const app = await stage.app({
      connection: backend.connection,
      customDestinations: [Warehouse, { id: lake, deliver: () => Promise.resolve() }],
    });
    const down = (destination: string): Promise<unknown> => valueOf('endpoints.down', { destination });
    expect([await down(lake), await down(warehouse)]).toEqual([0, 0]);
    app.analytics.track({ userId: 'u1', event: 'Paid' });
    await app.analytics.flush();
    for (const destination of [lake, warehouse]) {
      await until(() => valueOf('delivery.latency', { destination }));
      expect(await valueOf('messages.queued', { destination })).toBe(1);
      expect(await valueOf('delivery.attempts', { destination, class: 'delivered' })).toBe(1);
      expect(await valueOf('delivery.duration', { destination, class: 'delivered' })).toBe(1);
    }
  });

  it('name destinations at run time and tenants only if the options say so', async () => {
    const receiver = await stage.receiver();
    const url = receiver.url();
    const [source, tenant] = [`tenants-${backend.name}`, `acme-${backend.name}`];
    const deliver = async (metricsOptions: object): Promise<string> => {
      const app = await stage.app({
        connection: backend.connection,
        sources: [{ name: source, writeKey: 'wk' }],
        destinations: { encryptionKey: KEY, allowPrivateNetwork: true },
        metrics: metricsOptions,
      });
      const { id } = await app.context.get(DestinationsService).create({ tenant, urls: [url] });
      app.analytics.tenant(tenant).track({ userId: 'u1', event: 'Paid' });
      await app.analytics.flush();
      await app.settled();
      await app.close();
      return id;
    };
    const unnamed = await deliver({});
    const attempts = { class: 'delivered' };
    await until(() => valueOf('delivery.attempts', { destination: 'run-time', ...attempts }));
    expect(await valueOf('delivery.attempts', { destination: unnamed, ...attempts })).toBeUndefined();
    expect(await valueOf('messages.taken', { source, tenant })).toBeUndefined();
    const named = await deliver({ eachDestination: true, tenants: true });
    await until(() => valueOf('delivery.attempts', { destination: named, ...attempts }));
    expect(await valueOf('messages.taken', { source, tenant })).toBe(1);
  });

  it('show that URLs of destinations at run time are up again or gone', async () => {
    let isDown = true;
    const receiver = await stage.receiver({ answer: () => (isDown ? 503 : 200) });
    const tenant = `tenant-${backend.name}`;
    const app = await stage.app({
      connection: backend.connection,
      destinations: { encryptionKey: KEY, allowPrivateNetwork: true },
    });
    const destinations = app.context.get(DestinationsService);
    const fields = { tenant, urls: [receiver.url()], retryWindow: 60_000 };
    const { id } = await destinations.create(fields);
    await destinations.create(fields);
    for (let n = 0; n < 5; n++) app.analytics.tenant(tenant).track({ userId: 'u1', event: 'Paid' });
    const untilDown = (count: number): Promise<true> =>
      until(async () =>
        (await valueOf('endpoints.down', { destination: 'run-time' })) === count ? true : undefined,
      );
    await untilDown(2);
    await destinations.delete(id, { tenant });
    await untilDown(1);
    isDown = false;
    await untilDown(0);
  });
});

describeAnyServer('the data about its call that a queued message carries', (backend) => {
  const stage = new Stage();

  it('is stored once for messages that were tracked at the same time', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const at = Date.now();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(at);
    for (const event of ['Cart Viewed', 'Paid']) app.analytics.track({ userId: 'u1', event });
    clock.mockReturnValue(at + 1);
    app.analytics.track({ userId: 'u1', event: 'Shipped' });
    clock.mockRestore();
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    expect(job?.data).toMatchObject({
      calls: [{ at }, { at: at + 1 }],
      batches: [{ messages: [{ callIndex: 0 }, { callIndex: 0 }, { callIndex: 1 }] }],
    });
  });
});

describeServers('the metrics of a queue that does not answer', (backend) => {
  const stage = new Stage();

  it('are left out, unlike the metrics of the process', async () => {
    // An SDK repeats the last values it got.
    reader = newMetricReader();
    await stage.app({
      connection: backend.connection,
      webhooks: { urls: ['https://hooks.example.com/'] },
      shutdownTimeout: 500,
    });
    backend.server.pause();
    try {
      const found = await collected();
      expect(found.get('buffer.messages')).toEqual([[{}, 0]]);
      expect(found.get('queue.jobs')).toBeUndefined();
      expect(found.get('queue.oldest')).toBeUndefined();
    } finally {
      backend.server.resume();
    }
  });
});

describe('the metrics of an outbox', () => {
  const stage = new Stage();

  it('show its rows by state and the age of the oldest waiting row, as does the status', async () => {
    const database = await stage.add(PGlite.create());
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: { urls: ['https://hooks.example.com/'] },
      outbox: { connection: database, migrate: true },
    });
    const counted = await until(() => app.analytics.status().outbox);
    expect(counted).toEqual({ waiting: 0, oldestAge: 0, setAside: 0 });
    // No row is due while this test runs, and the oldest row is set aside.
    await database.exec(`INSERT INTO nestjs_analytics.outbox (version, source, message, created_at, due_at) VALUES
      (1, 'default', '{}', now() - interval '1 hour', now() + interval '1 hour'),
      (1, 'default', '{}', now() - interval '2 hours', 'infinity'),
      (1, 'default', '{}', now(), now() + interval '1 hour')`);
    // On a busy machine the first count may have taken long, and is then used for a while.
    const found = await until(async () => {
      const all = await collected();
      // If a count takes too long, a collection leaves these metrics out.
      return Number(all.get('outbox.rows')?.[0]?.[1] ?? 0) > 0 ? all : undefined;
    });
    expect(found.get('outbox.rows')).toEqual([
      [{ state: 'waiting' }, 2],
      [{ state: 'set_aside' }, 1],
    ]);
    const [[, oldest] = []] = found.get('outbox.oldest') ?? [];
    expect(Math.floor(Number(oldest) / 3_600)).toBe(1);
    expect(app.analytics.status().outbox).toMatchObject({ waiting: 2, setAside: 1 });
  });
});

describe('a view of the application that throws', () => {
  const stage = new Stage();

  it('does not prevent the delivery of messages', async () => {
    const process = (): never => {
      throw new TypeError('it expects another attribute');
    };
    reader = newMetricReader([{ instrumentName: 'nestjs_analytics.*', attributesProcessors: [{ process }] }]);
    const receiver = await stage.receiver({ answer: [503, 200] });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { retryWindow: 4_000 }),
    });
    app.analytics.track({ userId: 'u1', event: 'Paid' });
    await app.analytics.flush();
    await app.settled();
    await reader.collect();
    expect(receiver.requests).toHaveLength(2);
    const lines = app.log.analytics.filter((line) => line.includes('OpenTelemetry'));
    expect(lines[0]).toMatch(
      /^error: OpenTelemetry threw TypeError at .*\. Delivery continues; fix the sampler/,
    );
    expect(lines.join()).not.toContain('another attribute');
  });
});
