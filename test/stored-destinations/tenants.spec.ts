import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { expect, it } from '@jest/globals';
import {
  DeliveriesService,
  DestinationsService,
  type MessageOutcome,
  type NewDestination,
  verifySignature,
  verifyStandardWebhook,
} from '../../src/index.js';
import { BATCH_JOB_VERSION } from '../../src/queue/batch-job.js';
import { createDestinationStore } from '../../src/stored-destinations/stores/create-destination-store.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { type Backend, describeAnyServer, describeServersOrEmbedded } from '../support/describe-backend.js';
import type { Receiver, ReceiverOptions } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const ENCRYPTION_KEY = randomBytes(32).toString('base64');

const stage = new Stage();

function startOn({ connection }: Backend, options: AppOptions = {}): Promise<AnalyticsApp> {
  return stage.app({
    connection,
    destinations: { encryptionKey: ENCRYPTION_KEY, allowPrivateNetwork: true },
    flushAt: 1,
    ...options,
  });
}

const service = (app: AnalyticsApp): DestinationsService => app.context.get(DestinationsService);

/** Starts a receiver, and creates its destination. */
async function register(
  app: AnalyticsApp,
  fields: Partial<NewDestination>,
  options?: ReceiverOptions,
): Promise<{ receiver: Receiver; id: string; secret: string }> {
  const receiver = await stage.receiver(options);
  const { id, secret = '' } = await service(app).create({ urls: [receiver.url()], ...fields });
  return { receiver, id, secret };
}

const eventsOf = ({ requests }: Receiver): string[] =>
  requests.map(({ body }) => String((JSON.parse(body.toString()) as { event?: string }).event)).sort();

const track = (app: AnalyticsApp, tenant: string | undefined, ...events: string[]): void => {
  const analytics = tenant === undefined ? app.analytics : app.analytics.tenant(tenant);
  for (const event of events) analytics.track({ userId: 'u1', event });
};

/** Resolves once everything that was tracked is in the queue and has left it. */
async function delivered(app: AnalyticsApp): Promise<void> {
  await app.analytics.flush();
  await app.settled();
}

describeAnyServer('destinations of tenants', (backend) => {
  const start = (options?: AppOptions): Promise<AnalyticsApp> => startOn(backend, options);

  it('get the events of their own tenant, while those of the application get all events', async () => {
    const fixed = await stage.receiver();
    const app = await start({ webhooks: webhooksTo(fixed) });
    const acme = await register(app, { tenant: 'acme' });
    const other = await register(app, { tenant: 'other' });
    const shared = await register(app, {});
    track(app, 'acme', 'of acme');
    app.analytics.track({ userId: 'u1', event: 'by context', context: { groupId: 'acme' } });
    track(app, 'other', 'of other');
    track(app, 'nobody', 'of nobody');
    track(app, undefined, 'of no tenant');
    await delivered(app);
    expect(eventsOf(acme.receiver)).toEqual(['by context', 'of acme']);
    expect(eventsOf(other.receiver)).toEqual(['of other']);
    const all = ['by context', 'of acme', 'of no tenant', 'of nobody', 'of other'];
    expect(eventsOf(shared.receiver)).toEqual(all);
    expect(eventsOf(fixed)).toEqual(all);
  });

  it('get the name of their tenant, and are signed with the generated secret', async () => {
    const app = await start();
    const { receiver, secret } = await register(app, { tenant: 'acme' });
    track(app, 'acme', 'E');
    const [request] = await receiver.received(1);
    expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ context: { groupId: 'acme' } });
    expect(secret).toMatch(/^whsec_/);
    expect(() => {
      verifyStandardWebhook(request?.body ?? '', request?.headers ?? {}, secret);
    }).not.toThrow();
  });

  it('get their headers, signature, statuses that are retried, and timeout applied', async () => {
    const app = await start();
    const hang = (): void => undefined;
    const terms = { retryStatuses: [404], timeout: 200, retryWindow: 60_000 };
    const { receiver } = await register(
      app,
      { tenant: 'acme', headers: { 'X-Team': 'one' }, sharedSecret: 'teehee', ...terms },
      { answer: [404, hang, 400] },
    );
    track(app, 'acme', 'E');
    for (const { body, headers } of await receiver.received(3)) {
      expect(headers).toMatchObject({ 'x-team': 'one' });
      expect(verifySignature(body, headers['x-signature'], 'teehee')).toBe(true);
    }
    await app.failedJobs();
    const [failed] = await app.context.get(DeliveriesService).failed();
    expect(failed?.outcomes).toMatchObject([{ class: 'permanent', status: 400, attempt: 3 }]);
    expect(receiver.requests).toHaveLength(3);
  });

  it('get only the events, types and sources that they select', async () => {
    const sources = ['web', 'server'].map((name) => ({ name, writeKey: name }));
    const app = await start({ sources });
    const events = await register(app, { tenant: 'acme', events: ['Order Completed', 'Invoice *'] });
    const types = await register(app, { tenant: 'acme', types: ['identify', 'track'], events: ['Order*'] });
    const server = await register(app, { tenant: 'acme', sources: ['server'] });
    track(app, 'acme', 'Order Completed', 'Order Refused', 'Invoice Paid', 'invoice paid');
    app.analytics.tenant('acme').identify({ userId: 'u1' });
    app.analytics.source('server').tenant('acme').page({ userId: 'u1' });
    await delivered(app);
    expect(eventsOf(events.receiver)).toEqual(['Invoice Paid', 'Order Completed']);
    expect(eventsOf(types.receiver)).toEqual(['Order Completed', 'Order Refused', 'undefined']);
    expect(eventsOf(server.receiver)).toEqual(['undefined']);
  });

  it('are selected by `integrations` and subject to a schema, as others are', async () => {
    const app = await start({ sources: [{ name: 'web', writeKey: 'w', schema: { Debug: false } }] });
    const one = await register(app, { tenant: 'acme' });
    const two = await register(app, { tenant: 'acme' });
    const analytics = app.analytics.tenant('acme');
    analytics.track({ userId: 'u1', event: 'one', integrations: { [two.id]: false } });
    analytics.track({ userId: 'u1', event: 'two', integrations: { All: false, [two.id]: true } });
    analytics.track({ userId: 'u1', event: 'Debug' });
    await delivered(app);
    expect([eventsOf(one.receiver), eventsOf(two.receiver)]).toEqual([['one'], ['two']]);
    expect(app.analytics.usage()).toEqual({ received: 3, filtered: 1 });
  });

  it("get events by the application's `tenant` function, unless a source or call is bound to a tenant", async () => {
    const app = await start({
      sources: [
        { name: 'web', writeKey: 'w' },
        { name: 'acme-key', writeKey: 'k', tenant: 'acme' },
      ],
      destinations: {
        allowPrivateNetwork: true,
        tenant: ({ type, ...message }) => ('userId' in message ? message.userId?.split('@')[1] : type),
      },
    });
    const acme = await register(app, { tenant: 'acme' });
    const other = await register(app, { tenant: 'other' });
    app.analytics.track({ userId: 'ann@acme', event: 'by function' });
    app.analytics
      .source('acme-key')
      .track({ userId: 'bob@other', event: 'by source', context: { groupId: 'x' } });
    app.analytics.tenant('acme').track({ userId: 'bob@other', event: 'by call' });
    app.analytics.track({ userId: 'bob@other', event: 'of other' });
    await delivered(app);
    expect(eventsOf(acme.receiver)).toEqual(['by call', 'by function', 'by source']);
    expect(eventsOf(other.receiver)).toEqual(['of other']);
    const bySource = acme.receiver.requests.find(({ body }) => body.includes('by source'));
    expect(JSON.parse(bySource?.body.toString() ?? '')).toMatchObject({ context: { groupId: 'acme' } });
  });

  it('get the deletions of their own tenant', async () => {
    const app = await start();
    const acme = await register(app, { tenant: 'acme' });
    const other = await register(app, { tenant: 'other' });
    app.analytics.tenant('acme').delete({ userId: 'u1' });
    await delivered(app);
    expect(JSON.parse(acme.receiver.requests[0]?.body.toString() ?? '')).toMatchObject({ type: 'delete' });
    expect(other.receiver.requests).toHaveLength(0);
  });

  it('reach no private address, not even by a host name, unless the application allows it', async () => {
    const receiver = await stage.receiver();
    // The host name of this machine leads to the machine itself.
    const urls = [receiver.url().replace('127.0.0.1', hostname())];
    const app = await start({ destinations: { encryptionKey: ENCRYPTION_KEY } });
    const { id } = await service(app).create({ tenant: 'acme', urls });
    track(app, 'acme', 'E');
    await app.failedJobs();
    const [failed] = await app.context.get(DeliveriesService).failed({ destination: id });
    expect(failed?.outcomes).toMatchObject([{ class: 'permanent', error: 'ADDRESS_REFUSED' }]);
    expect(await service(app).sendTest(id)).toMatchObject([{ error: 'ADDRESS_REFUSED' }]);
    expect(receiver.connections).toBe(0);
  });

  it('are signed with both secrets during a rotation', async () => {
    const app = await start();
    const { receiver, id, secret: old } = await register(app, { tenant: 'acme' });
    const { secret } = await service(app).rotateSecret(id, { overlap: 60_000 });
    track(app, 'acme', 'both');
    const [both] = await receiver.received(1);
    await service(app).rotateSecret(id, { overlap: 0 });
    track(app, 'acme', 'new');
    const [, next] = await receiver.received(2);
    const isSignedWith = (request: typeof both, key: string): boolean => {
      try {
        verifyStandardWebhook(request?.body ?? '', request?.headers ?? {}, key);
        return true;
      } catch {
        return false;
      }
    };
    expect([isSignedWith(both, old), isSignedWith(both, secret)]).toEqual([true, true]);
    expect([isSignedWith(next, old), isSignedWith(next, secret)]).toEqual([true, false]);
  });
});

describeServersOrEmbedded('destinations of tenants', (backend) => {
  const start = (options?: AppOptions): Promise<AnalyticsApp> => startOn(backend, options);

  it('get messages according to a change as soon as the change has resolved', async () => {
    const app = await start();
    const { receiver, id } = await register(app, { tenant: 'acme' });
    track(app, 'acme', 'first');
    await delivered(app);
    await service(app).update(id, { events: ['wanted'] });
    track(app, 'acme', 'not wanted', 'wanted');
    await delivered(app);
    await service(app).disable(id);
    track(app, 'acme', 'wanted');
    await delivered(app);
    await service(app).enable(id);
    track(app, 'acme', 'wanted');
    await delivered(app);
    await service(app).delete(id);
    track(app, 'acme', 'wanted');
    await delivered(app);
    expect(eventsOf(receiver)).toEqual(['first', 'wanted', 'wanted']);
  });

  it('get waiting messages at their new URL, signed with their new secret', async () => {
    const app = await start();
    const { receiver, id } = await register(app, { tenant: 'acme', retryWindow: 60_000 }, { answer: [503] });
    track(app, 'acme', 'E');
    await receiver.received(1);
    const next = await stage.receiver();
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    await service(app).update(id, { urls: [next.url()], standardWebhooks: { secret } });
    const [request] = await next.received(1);
    expect(() => {
      verifyStandardWebhook(request?.body ?? '', request?.headers ?? {}, secret);
    }).not.toThrow();
  });

  it('keep waiting messages while they are disabled, and get them when they are enabled', async () => {
    const app = await start();
    const { receiver, id } = await register(
      app,
      { tenant: 'acme', retryWindow: 60_000 },
      { answer: [503, 200] },
    );
    const deliveries = app.context.get(DeliveriesService);
    track(app, 'acme', 'E');
    await receiver.received(1);
    await service(app).disable(id, { reason: 'asked for' });
    const [kept] = await until(async () => {
      const failed = await deliveries.failed({ destination: id });
      return failed.length > 0 ? failed : undefined;
    });
    expect(kept).toMatchObject({ error: 'DESTINATION_DISABLED', destination: id });
    expect(await service(app).get(id)).toMatchObject({ enabled: false, disabledReason: 'asked for' });
    expect(await service(app).enable(id)).toMatchObject({ enabled: true, disabledReason: undefined });
    await receiver.received(2);
    await delivered(app);
    expect(await deliveries.counts()).toMatchObject({ failed: 0, waiting: 0, delayed: 0 });
  });

  it('keep refused messages unchanged while they are disabled, even if these are replayed', async () => {
    const app = await start();
    const { receiver, id } = await register(app, { tenant: 'acme' }, { answer: [404, 200] });
    const deliveries = app.context.get(DeliveriesService);
    track(app, 'acme', 'E');
    await app.failedJobs();
    await service(app).disable(id);
    expect(await deliveries.replay({ destination: id })).toBe(0);
    await app.settled();
    expect(await deliveries.failed({ status: 404 })).toMatchObject([{ outcomes: [{ status: 404 }] }]);
    await service(app).enable(id);
    await app.settled();
    expect(receiver.requests).toHaveLength(1);
    expect(await deliveries.replay({ destination: id })).toBe(1);
    await receiver.received(2);
  });

  it('drop waiting messages when they are deleted, which is reported', async () => {
    const app = await start();
    const { receiver, id } = await register(app, { tenant: 'acme', retryWindow: 60_000 }, { answer: [503] });
    const deliveries = app.context.get(DeliveriesService);
    const outcomes: MessageOutcome[] = [];
    deliveries.outcomes$.subscribe((outcome) => outcomes.push(outcome));
    track(app, 'acme', 'E');
    await receiver.received(1);
    await service(app).delete(id);
    await app.settled();
    expect(await until(() => outcomes.find((outcome) => outcome.class === 'dropped'))).toMatchObject({
      destination: id,
      type: 'track',
    });
    expect(receiver.requests).toHaveLength(1);
    expect(await deliveries.counts()).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0 });
    expect(await app.log.line(/was deleted/)).toContain(id);
  });

  /**
   * Changes a destination in the middle of an attempt. Its receiver refuses the message `refused` for good, and takes
   * `retried` at the next attempt. Resolves to the outcomes of both messages once neither waits any more.
   */
  async function changed(
    app: AnalyticsApp,
    change: (id: string) => Promise<unknown>,
  ): Promise<{ receiver: Receiver; id: string; told: string[] }> {
    let answer: (status: number) => void = () => undefined;
    const { receiver, id } = await register(
      app,
      { tenant: 'acme', retryWindow: 60_000 },
      {
        answer: ({ headers }, index) => {
          if (headers['webhook-id'] === 'refused') return 404;
          return index > 1 ? 200 : new Promise((resolve) => (answer = resolve));
        },
      },
    );
    const outcomes: MessageOutcome[] = [];
    app.context.get(DeliveriesService).outcomes$.subscribe((outcome) => outcomes.push(outcome));
    for (const messageId of ['refused', 'retried']) {
      app.analytics.tenant('acme').track({ userId: 'u1', event: 'E', messageId });
    }
    await receiver.received(2);
    await change(id);
    answer(503);
    await until(() => (outcomes.length >= 3 ? true : undefined));
    await app.settled();
    const told = outcomes.map((outcome) =>
      [outcome.messageId, outcome.class, outcome.error ?? ''].join(' ').trim(),
    );
    return { receiver, id, told };
  }

  it('end each message of a batch once when they are disabled during an attempt', async () => {
    const app = await start({ flushAt: 2 });
    const deliveries = app.context.get(DeliveriesService);
    const { receiver, id, told } = await changed(app, (one) => service(app).disable(one));
    expect(told.sort()).toEqual(['refused failed', 'retried failed DESTINATION_DISABLED', 'retried retry']);
    const failed = await deliveries.failed({ destination: id });
    expect(failed.map(({ messageId, error }) => `${messageId} ${error}`).sort()).toEqual([
      'refused DELIVERY_FAILED',
      'retried DESTINATION_DISABLED',
    ]);
    const ended = await until(async () => {
      const hours = await deliveries.stats({ destination: id });
      const count = hours.reduce((sum, hour) => sum + hour.failed, 0);
      return count >= 2 ? count : undefined;
    });
    expect(ended).toBe(2);
    await service(app).enable(id);
    await receiver.received(3);
    await delivered(app);
    expect(receiver.requests.map(({ headers }) => headers['webhook-id']).slice(2)).toEqual(['retried']);
    expect(await deliveries.failed({ destination: id })).toMatchObject([{ messageId: 'refused' }]);
  });

  it('end each message of a batch once when they are deleted during an attempt', async () => {
    const app = await start({ flushAt: 2 });
    const { told } = await changed(app, (id) => service(app).delete(id));
    expect(told.sort()).toEqual(['refused failed', 'retried dropped', 'retried retry']);
  });

  it('may share a job, in which each has its own end', async () => {
    const app = await start({ flushAt: 3 });
    const kept = await register(app, { tenant: 'acme' });
    const dropped = await register(app, { tenant: 'acme' });
    const open = await register(app, { tenant: 'acme' });
    // Makes the tenant's destinations known, so that messages are routed when they are tracked.
    track(app, 'acme', 'zero');
    await delivered(app);
    track(app, 'acme', 'one', 'two');
    await service(app).disable(kept.id);
    await service(app).delete(dropped.id);
    await delivered(app);
    expect(eventsOf(open.receiver)).toEqual(['one', 'two', 'zero']);
    expect([eventsOf(kept.receiver), eventsOf(dropped.receiver)]).toEqual([['zero'], ['zero']]);
    const deliveries = app.context.get(DeliveriesService);
    expect(await deliveries.failed({ destination: kept.id })).toHaveLength(2);
    expect(await deliveries.failed({ destination: dropped.id })).toHaveLength(0);
  });

  it('are still there after a restart, with their secrets, and wait for a missing key', async () => {
    const app = await start();
    const { receiver, secret, id } = await register(app, { tenant: 'acme', headers: { 'X-Team': 'one' } });
    await app.close();
    const wrong = { encryptionKey: randomBytes(32).toString('hex'), allowPrivateNetwork: true };
    const locked = await start({ destinations: wrong });
    track(locked, 'acme', 'E');
    await locked.analytics.flush();
    await locked.log.line(/cannot be decrypted/);
    expect(await locked.context.get(DeliveriesService).counts()).toMatchObject({ failed: 0 });
    expect(await service(locked).get(id)).toMatchObject({ headers: undefined, tenant: 'acme' });
    await expect(service(locked).rotateSecret(id)).rejects.toMatchObject({ code: 'DESTINATION_KEY' });
    await locked.close();
    const again = await start({
      destinations: { encryptionKey: [wrong.encryptionKey, ENCRYPTION_KEY], allowPrivateNetwork: true },
    });
    const [request] = await receiver.received(1);
    expect(request?.headers).toMatchObject({ 'x-team': 'one' });
    expect(() => {
      verifyStandardWebhook(request?.body ?? '', request?.headers ?? {}, secret);
    }).not.toThrow();
    await delivered(again);
  });

  it('are looked at the more rarely, the more of their jobs wait for a missing key', async () => {
    const app = await start();
    const { receiver, id } = await register(app, { tenant: 'acme' });
    await app.close();
    const wrong = { encryptionKey: randomBytes(32).toString('hex'), allowPrivateNetwork: true };
    const locked = await start({ destinations: wrong });
    const message = { id: 'm1', body: '{"type":"track"}', outcomes: [] };
    const data = {
      v: BATCH_JOB_VERSION,
      batches: [{ destination: id, source: 'default', messages: [message] }],
    };
    await locked.queue.addBulk(Array.from({ length: 200 }, () => ({ name: 'batch', data: data as never })));
    const delayed = await until(async () => {
      const jobs = await locked.queue.getDelayed();
      return jobs.length === 200 ? jobs : undefined;
    });
    // 50 ms between two jobs. The first job is due after five seconds.
    const due = delayed.map(({ processedOn = 0, delay }) => processedOn + delay);
    expect(Math.max(...due) - Math.min(...due)).toBeGreaterThan(9_000);
    expect(receiver.requests).toHaveLength(0);
  });

  it('are replayed even while the key of other destinations is missing', async () => {
    const app = await start();
    const other = await register(app, { tenant: 'other' }, { answer: [400, 200] });
    track(app, 'other', 'E');
    await app.failedJobs();
    await app.close();
    const wrong = { encryptionKey: randomBytes(32).toString('hex'), allowPrivateNetwork: true };
    const locked = await start({ destinations: wrong });
    const acme = await register(locked, { tenant: 'acme' }, { answer: [400, 200] });
    const deliveries = locked.context.get(DeliveriesService);
    track(locked, 'acme', 'E');
    await until(async () => ((await deliveries.countFailed()) === 2 ? true : undefined));
    expect(await deliveries.replay({ destination: acme.id })).toBe(1);
    await acme.receiver.received(2);
    expect(await deliveries.replay()).toBe(0);
    await expect(deliveries.replay({ destination: other.id })).rejects.toMatchObject({
      code: 'DESTINATION_KEY',
    });
    expect(await deliveries.countFailed({ destination: other.id })).toBe(1);
  });

  it('are encrypted with the new key when their secrets change, after which the old key can be removed', async () => {
    const next = randomBytes(32).toString('hex');
    const withKeys = (...encryptionKey: string[]): Promise<AnalyticsApp> =>
      start({ destinations: { encryptionKey, allowPrivateNetwork: true } });
    const before = await withKeys(ENCRYPTION_KEY);
    const { receiver, id } = await register(before, { tenant: 'acme', headers: { 'X-Team': 'one' } });
    await before.close();
    const both = await withKeys(next, ENCRYPTION_KEY);
    const { secret } = await service(both).rotateSecret(id, { overlap: 0 });
    await both.close();
    const after = await withKeys(next);
    track(after, 'acme', 'E');
    const [request] = await receiver.received(1);
    expect(request?.headers).toMatchObject({ 'x-team': 'one' });
    expect(() => {
      verifyStandardWebhook(request?.body ?? '', request?.headers ?? {}, secret);
    }).not.toThrow();
  });

  it('leave no secret in the database, a job, a list or the log', async () => {
    const app = await start({ worker: true });
    const secrets = { sharedSecret: 'a-shared-secret', headers: { Authorization: 'Bearer token-of-acme' } };
    const standard = `whsec_${randomBytes(32).toString('base64')}`;
    const { id } = await register(
      app,
      { tenant: 'acme', ...secrets, standardWebhooks: { secret: standard } },
      { answer: [400] },
    );
    track(app, 'acme', 'E');
    const jobs = await app.failedJobs();
    const { storage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    const stored = await (await createDestinationStore(storage)).list({ limit: 10 });
    expect(stored).toMatchObject([{ id, sealed: expect.any(String) }]);
    const told = [
      stored,
      jobs.map(({ data }) => data),
      await service(app).list(),
      await service(app).get(id),
      app.log.all,
    ];
    for (const secret of ['a-shared-secret', 'token-of-acme', standard]) {
      expect(JSON.stringify(told)).not.toContain(secret);
    }
    expect(await service(app).get(id)).toMatchObject({
      headers: ['Authorization'],
      signatures: ['X-Signature', 'webhook-signature'],
    });
  });
});
