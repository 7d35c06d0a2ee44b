import { expect, it } from '@jest/globals';
import type { AnalyticsService } from '../../src/index.js';
import {
  AnalyticsHealthIndicator,
  AudiencesService,
  ConsoleService,
  DeliveriesService,
  DestinationsService,
  OutboxService,
} from '../../src/index.js';
import { AnalyticsApp } from '../support/analytics-app.js';
import { describeBackend } from '../support/describe-backend.js';
import { Receiver } from '../support/receiver.js';

type MethodOf<S> = { [N in keyof S]: S[N] extends (...args: never[]) => unknown ? N : never }[keyof S];
/** One call of each public method. A missing method is a compile error. */
type CallsOf<S, Left = never> = Record<Exclude<MethodOf<S>, Left>, () => unknown>;

type Hook = 'beforeApplicationShutdown' | 'onApplicationShutdown';

const USER = { userId: 'u1' };
const executor = { query: () => Promise.resolve({ rows: [] }) };

function callsOf(app: AnalyticsApp, id: string): Record<string, () => unknown> {
  const { analytics, context } = app;
  const deliveries = context.get(DeliveriesService);
  const destinations = context.get(DestinationsService);
  const audiences = context.get(AudiencesService);
  const console = context.get(ConsoleService);
  const outbox = context.get(OutboxService);
  const calls = {
    analytics: {
      identify: () => analytics.identify(USER),
      track: () => analytics.track({ ...USER, event: 'E' }),
      page: () => analytics.page(USER),
      screen: () => analytics.screen(USER),
      group: () => analytics.group({ ...USER, groupId: 'g' }),
      alias: () => analytics.alias({ ...USER, previousId: 'a1' }),
      delete: () => analytics.delete(USER),
      usage: () => analytics.usage(),
      flush: () => analytics.flush(),
      source: () => analytics.source('default'),
      tenant: () => analytics.tenant('acme'),
      within: () => analytics.within(executor),
    } satisfies CallsOf<AnalyticsService, 'status'>,
    deliveries: {
      counts: () => deliveries.counts(),
      failed: () => deliveries.failed(),
      replay: () => deliveries.replay(),
      countFailed: () => deliveries.countFailed(),
      sendTest: () => deliveries.sendTest('webhooks'),
      explain: () => deliveries.explain({ destination: 'webhooks', messageId: 'm1', body: '{}' }),
      recent: () => deliveries.recent({ destination: id }),
      stats: () => deliveries.stats({ destination: id }),
      totals: () => deliveries.totals(),
      totalsByMinute: () => deliveries.totalsByMinute(),
    } satisfies CallsOf<DeliveriesService>,
    destinations: {
      create: () => destinations.create({ urls: ['https://hooks.example.com/'] }),
      get: () => destinations.get(id),
      configured: () => destinations.configured(),
      list: () => destinations.list(),
      update: () => destinations.update(id, { name: 'late' }),
      delete: () => destinations.delete(id),
      enable: () => destinations.enable(id),
      disable: () => destinations.disable(id),
      rotateSecret: () => destinations.rotateSecret(id),
      sendTest: () => destinations.sendTest(id),
      changed: () => destinations.changed(),
    } satisfies CallsOf<DestinationsService>,
    audiences: {
      sync: () => audiences.sync('Late', ['u1']),
      syncTrait: () => audiences.syncTrait('Late', [['u1', 1]]),
      add: () => audiences.add('Late', 'u1'),
      remove: () => audiences.remove('Late', 'u1'),
      members: () => audiences.members('Late').next(),
      delete: () => audiences.delete('Late'),
      list: () => audiences.list(),
    } satisfies CallsOf<AudiencesService, Hook | 'forget'>,
    console: {
      linkFor: () => console.linkFor({ tenant: 'acme' }),
      revokeLinks: () => console.revokeLinks({ tenant: 'acme' }),
    } satisfies CallsOf<ConsoleService>,
    outbox: { status: () => outbox.status() } satisfies CallsOf<OutboxService>,
  };
  return Object.fromEntries(
    Object.entries(calls).flatMap(([service, methods]) =>
      Object.entries(methods).map(([name, call]) => [`${service}.${name}`, call]),
    ),
  );
}

/** Resolves to the code of the error with which a call throws or rejects. */
async function codeOf(call: () => unknown): Promise<unknown> {
  try {
    return { resolved: await call() };
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
}

describeBackend('an application that has closed', (backend) => {
  it('refuses every call of its services, and reports its queue as down', async () => {
    const receiver = await Receiver.start();
    const app = await AnalyticsApp.start({
      connection: backend.connection,
      webhooks: { id: 'webhooks', urls: [receiver.url()], allowPrivateNetwork: true },
      destinations: { allowPrivateNetwork: true },
      flushAt: 1,
    });
    const { id } = await app.context.get(DestinationsService).create({ urls: [receiver.url()] });
    app.analytics.track({ ...USER, event: 'E' });
    await receiver.received(2);
    expect(app.analytics.status()).toMatchObject({ queue: 'up', worker: 'running' });
    const calls = callsOf(app, id);
    const health = app.context.get(AnalyticsHealthIndicator);
    await app.close();
    await receiver.close();

    const codes = await Promise.all(
      Object.entries(calls).map(async ([name, call]) => [name, await codeOf(call)]),
    );
    const refused = Object.keys(calls).map((name) => [name, 'ANALYTICS_CLOSED']);
    expect(Object.fromEntries(codes)).toEqual(Object.fromEntries(refused));
    expect(app.analytics.status()).toMatchObject({ queue: 'down', worker: 'stopped' });
    // The check does not ask the queue for its load, which would take as long as the timeout allows.
    expect(await health.isHealthy('analytics', { timeout: 600_000 })).toMatchObject({
      analytics: { status: 'down', queue: 'down' },
    });
  });
});
