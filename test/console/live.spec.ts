import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { z } from 'zod';
import { ConsoleService, DestinationsService, Track } from '../../src/index.js';
import { MemoryDestinationStore } from '../stored-destinations/memory-destination-store.js';
import { PLATFORMS, type ServerOptions, TrackingServer } from '../ingest/http/tracking-server.js';
import { Shop } from '../outbox/outbox-stage.js';
import type { AppOptions } from '../support/analytics-app.js';
import { Browser } from '../support/browser.js';
import { describeServersOrEmbedded, describeServers, describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { ConsoleApp, consoleOptions } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';
import { Watcher } from './watcher.js';

const HOSTILE = '</script><img src=x onerror="document.title=1">\n\nevent: away\u0000\u2028';
const OPERATOR = { cookie: 'user=operator' };
const ACME = { cookie: 'user=acme' };

@Controller()
class OrdersController {
  @Get('order')
  @Track('Order Completed')
  order(): string {
    return 'ordered';
  }
}

/** A store whose look-ups take as long as a test wants. */
class SlowStore extends MemoryDestinationStore {
  private answering = Promise.resolve();

  /** Makes look-ups wait until the returned function is called. */
  hold(): () => void {
    let release = (): void => undefined;
    this.answering = new Promise((resolve) => (release = resolve));
    return release;
  }

  override async findByTenant(
    tenant: string | undefined,
  ): ReturnType<MemoryDestinationStore['findByTenant']> {
    await this.answering;
    return super.findByTenant(tenant);
  }
}

describe.each(PLATFORMS)('what the console shows live on %s', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  async function start(options: AppOptions = {}, host: ServerOptions['host'] = {}): Promise<TrackingServer> {
    const analytics = consoleOptions({ connection: await newConnection(), ...options });
    return stage.add(TrackingServer.start({ platform, analytics, host }));
  }

  const watch = (server: TrackingServer, headers: Record<string, string>): Promise<Watcher> =>
    stage.add(Watcher.open(`${server.url}/analytics`, headers));

  it('includes each call that is taken, dropped or refused, with the reason', async () => {
    const receiver = await stage.receiver();
    const server = await start(
      {
        webhooks: webhooksTo(receiver),
        beforeSend: (message) =>
          message.type === 'track' && message.event === 'Unwanted' ? null : { ...message, integrations: {} },
      },
      { controllers: [OrdersController] },
    );
    const watcher = await watch(server, OPERATOR);
    expect(watcher.answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
    });
    const { analytics } = server;
    const messageId = analytics.track({
      userId: 'u1',
      event: HOSTILE,
      properties: { text: 'x'.repeat(9_000) },
    });
    // The destinations have to be looked up for the first call.
    await watcher.sees(1);
    analytics.track({ userId: 'u1', event: 'Unwanted' });
    expect(() => analytics.track({ userId: '', event: 'Nobody' })).toThrow();
    expect(() =>
      analytics.track({ userId: 'u1', event: 'Large', properties: { text: 'x'.repeat(40_000) } }),
    ).toThrow();
    await server.send('/order', {});
    await server.post('/v1/track', { userId: 'u2', event: 'Taken', writeKey: 'wk_test' });
    await server.post('/v1/track', { userId: 'u2', writeKey: 'wk_test' });
    const [taken, unwanted, nobody, large, order, received, invalid] = await watcher.sees(7);
    expect(taken).toMatchObject({
      outcome: 'taken',
      source: 'default',
      type: 'track',
      name: HOSTILE,
      userId: 'u1',
      messageId,
      isCut: true,
    });
    expect(taken?.json).toHaveLength(8_000);
    expect(unwanted).toMatchObject({ outcome: 'dropped', reason: '`beforeSend` returned null' });
    expect(unwanted).not.toHaveProperty('json');
    expect(nobody).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('userId') });
    expect(large).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('bytes') });
    expect(order).toMatchObject({
      outcome: 'dropped',
      type: 'track',
      name: 'Order Completed',
      reason: expect.stringContaining('@Track("Order Completed") on OrdersController.order has no `userId`'),
    });
    expect(received).toMatchObject({ outcome: 'taken', userId: 'u2', name: 'Taken' });
    expect(JSON.parse(received?.json ?? '')).toMatchObject({ type: 'track', userId: 'u2', event: 'Taken' });
    expect(invalid).toMatchObject({
      outcome: 'refused',
      type: 'track',
      reason: expect.stringContaining('event'),
    });
    expect(JSON.stringify(watcher.parts)).not.toContain('wk_test');
  });

  it('includes a call that is refused after its destinations were looked up, even if only one of them is full', async () => {
    const crm = await stage.receiver({ answer: [503] });
    const mail = await stage.receiver();
    const store = new SlowStore();
    const server = await start({
      webhooks: [webhooksTo(crm, { id: 'crm', backlogLimit: 1 }), webhooksTo(mail, { id: 'mail' })],
      destinations: {
        store,
        tenant: ({ userId }) => {
          if (userId === 'u2') throw new TypeError('no such customer');
          return 'acme';
        },
      },
    });
    const watcher = await watch(server, OPERATOR);
    const refused = (): (string | undefined)[] =>
      watcher.events.filter(({ outcome }) => outcome === 'refused').map(({ name }) => name);
    const { analytics } = server;
    analytics.track({ userId: 'u1', event: 'First' });
    await analytics.flush();
    analytics.track({ userId: 'u1', event: 'Second' });
    await watcher.sees(3);
    expect(refused()).toEqual(['Second']);

    const release = store.hold();
    await server.app.get(DestinationsService).changed('acme');
    analytics.track({ userId: 'u1', event: 'Third', integrations: { mail: false } });
    release();
    const events = await watcher.sees(4);
    expect(refused()).toEqual(['Second', 'Third']);
    expect(events.filter(({ outcome }) => outcome === 'taken').map(({ name }) => name)).toEqual([
      'First',
      'Second',
    ]);
    expect(events[3]).toMatchObject({
      tenant: 'acme',
      userId: 'u1',
      reason: expect.stringMatching(/wait for the destination "crm" \(its `backlogLimit`\)$/),
    });

    analytics.track({ userId: 'u2', event: 'Fourth' });
    const [, , , , unroutable] = await watcher.sees(5);
    expect(unroutable).toMatchObject({
      outcome: 'refused',
      name: 'Fourth',
      reason: expect.stringContaining(
        'its destinations could not be looked up (`destinations.tenant` threw TypeError',
      ),
    });
  });

  it('tells a tenant why its event got nowhere, and only the operator where to look', async () => {
    const crm = await stage.receiver({ answer: [503] });
    const validate = (): never => {
      throw new TypeError('no such plan');
    };
    const server = await start({
      webhooks: webhooksTo(crm, { id: 'crm', backlogLimit: 1 }),
      events: { Checked: { '~standard': { version: 1, vendor: 'test', validate } } },
      onViolation: 'drop',
      beforeSend: (message) => {
        if (message.userId === 'u2') throw new TypeError('no such user');
        return message;
      },
    });
    const [operator, tenant] = [await watch(server, OPERATOR), await watch(server, ACME)];
    const acme = server.analytics.tenant('acme');
    acme.track({ userId: 'u1', event: 'First' });
    await server.analytics.flush();
    acme.track({ userId: 'u1', event: 'Second' });
    acme.track({ userId: 'u2', event: 'Third' });
    acme.track({ userId: 'u1', event: 'Checked' });
    const unreadable = Object.defineProperty({ userId: 'u1', event: 'Fourth' }, 'properties', {
      get: () => {
        throw new TypeError('no such order');
      },
    });
    expect(() => acme.track(unreadable)).toThrow(TypeError);
    const reasons = async (watcher: Watcher): Promise<(string | undefined)[]> =>
      (await watcher.sees(5)).map(({ reason }) => reason);
    const CHECKED = 'The event "Checked" does not fit its schema in `events`: the schema could not check it';
    expect(await reasons(operator)).toEqual([
      undefined,
      expect.stringContaining('"crm" (its `backlogLimit`)'),
      expect.stringMatching(/^`beforeSend` threw TypeError at .*live\.spec/),
      CHECKED,
      expect.stringMatching(/^it threw TypeError at .*live\.spec/),
    ]);
    expect(await reasons(tenant)).toEqual([
      undefined,
      'a destination takes no more messages: too many wait for it',
      '`beforeSend` threw',
      CHECKED,
      'it threw',
    ]);
  });

  it('includes a refusal for each full destination for the operator, and one for all of them for a tenant', async () => {
    const down = await stage.receiver({ answer: [503] });
    const server = await start({
      webhooks: ['crm', 'mail'].map((id) => webhooksTo(down, { id, backlogLimit: 1 })),
    });
    const [operator, tenant] = [await watch(server, OPERATOR), await watch(server, ACME)];
    const acme = server.analytics.tenant('acme');
    acme.track({ userId: 'u1', event: 'First' });
    await server.analytics.flush();
    acme.track({ userId: 'u1', event: 'Second' });
    acme.track({ userId: 'u1', event: 'Third' });
    const seen = async (watcher: Watcher, count: number): Promise<string[]> =>
      (await watcher.sees(count)).map(({ name = '', outcome }) => `${name} ${outcome}`);
    expect(await seen(operator, 5)).toEqual([
      'First taken',
      'Second refused',
      'Second refused',
      'Third refused',
      'Third refused',
    ]);
    expect(await seen(tenant, 3)).toEqual(['First taken', 'Second refused', 'Third refused']);
  });

  it('includes a call with a slow look-up of destinations only once, with its outcome and the time of the call', async () => {
    const store = new SlowStore();
    const server = await start({ destinations: { store } });
    const orders = { tenant: 'acme', urls: ['https://crm.example'], events: ['Order Completed'] };
    await server.app.get(DestinationsService).create(orders);
    const watcher = await watch(server, OPERATOR);
    const release = store.hold();
    await server.app.get(DestinationsService).changed('acme');
    const acme = server.analytics.tenant('acme');
    acme.track({ userId: 'u1', event: 'Order Completed' });
    acme.track({ userId: 'u1', event: 'Page Viewed' });
    const madeBefore = Date.now();
    // Calls that need no look-up are shown meanwhile.
    expect(() => acme.track({ userId: '', event: 'Nobody' })).toThrow();
    expect(await watcher.sees(1)).toMatchObject([{ outcome: 'refused', name: 'Nobody' }]);
    while (Date.now() === madeBefore) await new Promise(setImmediate);
    release();
    const [, taken, dropped] = await watcher.sees(3);
    expect(taken).toMatchObject({ outcome: 'taken', name: 'Order Completed', tenant: 'acme' });
    expect(dropped).toMatchObject({
      outcome: 'dropped',
      name: 'Page Viewed',
      reason: 'no destination takes it',
    });
    for (const call of [taken, dropped]) expect(call?.at).toBeLessThanOrEqual(madeBefore);
    acme.track({ userId: 'u1', event: 'Last' });
    const events = await watcher.sees(4);
    expect(events.map(({ name }) => name)).toEqual(['Nobody', 'Order Completed', 'Page Viewed', 'Last']);
  });

  it('shows what was given at the call, whatever the caller changes until its destinations are known', async () => {
    const store = new SlowStore();
    const server = await start({ destinations: { store } });
    await server.app.get(DestinationsService).create({ tenant: 'acme', urls: ['https://crm.example'] });
    const watcher = await watch(server, OPERATOR);
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', onRejection);
    const release = store.hold();
    await server.app.get(DestinationsService).changed('acme');
    const order: Record<string, unknown> = { total: 5 };
    server.analytics.tenant('acme').track({ userId: 'u1', event: 'Changed', properties: { order } });
    const broken: Record<string, unknown> = { total: 5 };
    server.analytics.tenant('acme').track({ userId: 'u1', event: 'Broken', properties: { order: broken } });
    order.total = 6;
    Object.assign(broken, { total: 6n, self: broken });
    release();
    const calls = await watcher.sees(2);
    process.off('unhandledRejection', onRejection);
    expect(rejections).toEqual([]);
    expect(calls).toEqual([
      expect.objectContaining({ outcome: 'taken', name: 'Changed' }),
      expect.objectContaining({ outcome: 'taken', name: 'Broken' }),
    ]);
    for (const { json = '' } of calls) {
      expect(JSON.parse(json)).toMatchObject({ properties: { order: { total: 5 } } });
    }
  });

  it('includes a call without its contents if JSON cannot hold a part of it that is not sent', async () => {
    const receiver = await stage.receiver();
    const server = await start({ webhooks: webhooksTo(receiver) });
    const watcher = await watch(server, OPERATOR);
    for (const event of ['First', 'Second']) {
      server.analytics.track({ userId: 'u1', event, integrations: { Other: { id: 1n } } });
      await server.analytics.flush();
    }
    const calls = await watcher.sees(2);
    expect(calls.map(({ outcome, name, json }) => ({ outcome, name, json }))).toEqual([
      { outcome: 'taken', name: 'First', json: undefined },
      { outcome: 'taken', name: 'Second', json: undefined },
    ]);
    await receiver.received(2);
  });

  it('says what is wrong with each event, although the log has one line for all events of its name', async () => {
    const server = await start({
      events: { Paid: z.object({ total: z.number(), currency: z.string() }) },
      onViolation: 'drop',
    });
    const watcher = await watch(server, OPERATOR);
    server.analytics.track({ userId: 'u1', event: 'Paid', properties: { currency: 'EUR' } });
    server.analytics.track({ userId: 'u1', event: 'Paid', properties: { total: 5 } });
    const reasons = (await watcher.sees(2)).map(({ reason }) => reason);
    expect(reasons).toEqual([
      expect.stringMatching(/: `properties\.total`$/),
      expect.stringMatching(/: `properties\.currency`$/),
    ]);
    expect(server.log.analytics.filter((line) => line.includes('schema'))).toEqual([
      expect.stringContaining('`properties.total`'),
    ]);
  });

  it('is shown to known users only, and events of another tenant to the operator only', async () => {
    const server = await start();
    expect((await watch(server, {})).answer.statusCode).toBe(401);
    expect((await server.send('/analytics/live', { headers: OPERATOR })).status).toBe(403);
    const link = server.app.get(ConsoleService).linkFor({ tenant: 'acme' });
    const token = link.slice(link.indexOf('#') + 1);
    const acme = await watch(server, ACME);
    const linked = await watch(server, { 'x-analytics-link': token });
    const other = await watch(server, { cookie: 'user=other' });
    const operator = await watch(server, OPERATOR);
    server.analytics.tenant('acme').track({ userId: 'u1', event: 'Of acme' });
    server.analytics.track({ userId: 'u1', event: 'Of other', context: { groupId: 'other' } });
    server.analytics.track({ userId: 'u1', event: 'Of nobody' });
    expect(new Set((await operator.sees(3)).map(({ tenant }) => tenant))).toEqual(
      new Set(['acme', 'other', undefined]),
    );
    for (const [watcher, tenant] of [
      [acme, 'acme'],
      [linked, 'acme'],
      [other, 'other'],
    ] as const) {
      expect(await watcher.sees(1)).toEqual([expect.objectContaining({ name: `Of ${tenant}`, tenant })]);
    }
  });

  it('ends when its reader leaves, and when the application closes', async () => {
    const server = await start();
    const watchers = await Promise.all(Array.from({ length: 10 }, () => watch(server, ACME)));
    const refused = await server.send('/analytics/live', {
      headers: { ...ACME, 'x-analytics-console': '1' },
    });
    const message = '10 such pages are open already: close one of them.';
    expect(refused).toMatchObject({ status: 429, body: { error: { message } } });
    expect((await watch(server, OPERATOR)).answer.statusCode).toBe(200);
    await watchers[0]?.close();
    const next = await until(async () => {
      const watcher = await watch(server, ACME);
      return watcher.answer.statusCode === 200 ? watcher : undefined;
    });
    const closed = server.close();
    await next.ended;
    await closed;
  });
});

describeWith('postgres', PostgresServer.installed, 'what the console shows live of an outbox', () => {
  const stage = new Stage();
  const newConnection = quickConnections();
  let database: PostgresServer;
  beforeAll(async () => {
    database = await PostgresServer.create();
  });
  afterAll(() => database.dispose());

  it('includes a call whose transaction is committed, once its destinations are known', async () => {
    const shop = await stage.add(Shop.open(await database.createDatabase()));
    const store = new SlowStore();
    const analytics = consoleOptions({
      connection: await newConnection(),
      destinations: { store },
      outbox: { connection: shop.url, migrate: true },
    });
    const server = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
    await server.app.get(DestinationsService).create({ tenant: 'acme', urls: ['https://crm.example'] });
    const watcher = await stage.add(Watcher.open(`${server.url}/analytics`, OPERATOR));
    const release = store.hold();
    for (const tenant of ['acme', 'other']) await shop.pay(server, { tenant });
    release();
    const calls = await watcher.sees(2);
    expect(calls.map(({ tenant, outcome, reason }) => ({ tenant, outcome, reason }))).toEqual([
      { tenant: 'acme', outcome: 'taken', reason: undefined },
      { tenant: 'other', outcome: 'dropped', reason: 'no destination takes it' },
    ]);
  });
});

describeServers('what the console shows live', (backend) => {
  const stage = new Stage();

  it('comes from all processes, and resumes where it stopped', async () => {
    const analytics = consoleOptions({ connection: backend.connection });
    const server = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
    const withoutConsole = {
      connection: backend.connection,
      destinations: { encryptionKey: false },
    } as const;
    const other = await stage.add(TrackingServer.start({ platform: 'Fastify', analytics: withoutConsole }));
    const watch = (headers: Record<string, string>): Promise<Watcher> =>
      stage.add(Watcher.open(`${server.url}/analytics`, { ...OPERATOR, ...headers }));
    const first = await watch({});
    other.analytics.tenant('acme').track({ userId: 'u1', event: 'First' });
    server.analytics.track({ userId: 'u1', event: 'Second' });
    const events = await first.sees(2);
    expect(events.map(({ name }) => name).sort()).toEqual(['First', 'Second']);
    const second = await watch({});
    await first.close();
    other.analytics.track({ userId: 'u1', event: 'Third' });
    await second.sees(1);
    const id = first.parts.findLast(({ event }) => event === 'call')?.id ?? '';
    const next = await watch({ 'last-event-id': id });
    expect(await next.sees(1)).toEqual([expect.objectContaining({ name: 'Third' })]);
  });

  it('begins soon in a process that was told that nobody watches', async () => {
    const analytics = consoleOptions({ connection: backend.connection });
    const server = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
    const other = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
    const track = (event: string): string => other.analytics.track({ userId: 'u1', event });
    track('Unseen');
    await other.analytics.flush();
    const watcher = await stage.add(Watcher.open(`${server.url}/analytics`, OPERATOR));
    await until(() => {
      track('Seen');
      return watcher.events.find(({ name }) => name === 'Seen');
    });
  });
});

describeServers('what the console shows live while its database goes away', (backend) => {
  const stage = new Stage();

  it.each(['stop', 'kill'] as const)(
    'ends and says why, goes on when the database is back, and causes one log line for each (%s)',
    async (end) => {
      const analytics = consoleOptions({ connection: backend.connection });
      const server = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
      const watch = (headers: Record<string, string> = {}): Promise<Watcher> =>
        stage.add(Watcher.open(`${server.url}/analytics`, { ...OPERATOR, ...headers }));
      const track = (event: string): string => server.analytics.track({ userId: 'u1', event });
      const before = await watch();
      for (let n = 0; n < 3; n++) track('Before');
      await before.sees(3);

      await backend.server[end]();
      track('Meanwhile');
      await before.ended;
      expect(before.parts.at(-1)).toMatchObject({ event: 'away' });
      expect((await watch()).parts).toMatchObject([{ event: 'away' }]);
      expect((await server.send('/analytics', { headers: OPERATOR })).status).toBe(200);

      await backend.server.start();
      const id = before.parts.findLast(({ event }) => event === 'call')?.id ?? '';
      const after = await until(async () => {
        const watcher = await watch({ 'last-event-id': id });
        return watcher.parts[0]?.event === 'ready' ? watcher : undefined;
      });
      track('After');
      await until(() => after.events.find(({ name }) => name === 'After'));
      await after.close();
      await server.log.line(/is back/);
      expect(server.log.errors).toEqual([]);
      expect(server.log.analytics.filter((line) => !line.includes('Destinations can'))).toEqual([
        expect.stringMatching(`^warn: The queue on ${backend.name} cannot be reached`),
        expect.stringMatching(`^log: The queue on ${backend.name} is back`),
      ]);
    },
  );
});

describeServersOrEmbedded('what the console shows live of many events', (backend) => {
  const stage = new Stage();

  it('is only a part of what comes too fast, and says how much is missing', async () => {
    const analytics = consoleOptions({ connection: backend.connection });
    const server = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
    const watcher = await stage.add(Watcher.open(`${server.url}/analytics`, OPERATOR));
    for (let index = 0; index < 300; index++)
      server.analytics.track({ userId: 'u1', event: `Event ${index}` });
    const seen = await watcher.sees(50);
    const missed = watcher.parts.filter(({ event }) => event === 'missed');
    expect(missed).toEqual([expect.objectContaining({ data: { count: 250 } })]);
    expect(seen[0]?.name).toBe('Event 0');
  });

  it("includes and counts only a tenant's own events, whatever others send", async () => {
    const analytics = consoleOptions({ connection: backend.connection });
    const server = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
    const watch = (headers: Record<string, string>): Promise<Watcher> =>
      stage.add(Watcher.open(`${server.url}/analytics`, headers));
    const [acme, other] = [await watch(ACME), await watch({ cookie: 'user=other' })];
    const track = (tenant: string, index: number): string =>
      server.analytics.tenant(tenant).track({ userId: 'u1', event: `Event ${index} of ${tenant}` });
    const countOf = ({ events, parts }: Watcher): number =>
      parts
        .filter(({ event }) => event === 'missed')
        .reduce((count, { data }) => count + (data as { count: number }).count, events.length);
    for (let index = 0; index < 60; index++) track('other', index);
    track('acme', 0);
    expect(await acme.sees(1)).toMatchObject([{ name: 'Event 0 of acme' }]);
    expect(countOf(acme)).toBe(1);
    await until(() => countOf(other) === 60 || undefined);

    for (let index = 1; index <= 300; index++) track('acme', index);
    await until(() => countOf(acme) === 301 || undefined);
    expect(acme.events.length).toBeLessThan(301);
    expect(countOf(other)).toBe(60);
  });

  it('says how much is missing even if nothing of a tenant is shown', async () => {
    const analytics = consoleOptions({ connection: backend.connection });
    const server = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
    const acme = await stage.add(Watcher.open(`${server.url}/analytics`, ACME));
    // Refused at once, without a look-up of destinations.
    const refuse = (tenant: string): void => {
      expect(() => server.analytics.tenant(tenant).track({ userId: '', event: 'Nobody' })).toThrow();
    };
    for (let index = 0; index < 600; index++) refuse(`other ${index % 20}`);
    refuse('acme');
    const missed = await until(() => acme.parts.find(({ event }) => event === 'missed'));
    expect(missed).toMatchObject({ data: { count: 1 } });
    expect(acme.events).toEqual([]);
  });
});

describeWith('chromium', Browser.binary !== undefined, 'the page of live events', () => {
  const visit = new ConsoleVisit(
    (connection) =>
      ConsoleApp.start(connection, {
        platform: 'Fastify',
        analytics: (receiver) => ({ webhooks: webhooksTo(receiver) }),
      }),
    'operator',
  );

  it('shows events as they come, of one user if asked to, and goes on after a lost connection', async () => {
    const { visitor } = visit;
    const { server } = visit.app;
    const { page } = visitor;
    const list = (): Promise<string> =>
      page.$eval('ol', (element) => String(Reflect.get(element, 'innerText')));
    await page.setViewport({ width: 375, height: 800 });
    await visitor.click('Live');
    await visitor.reads('Watching');
    await visitor.reads('No events yet');
    server.analytics.tenant('acme').track({ userId: 'u1', event: HOSTILE, properties: { text: HOSTILE } });
    server.analytics.page({ userId: 'u2', name: 'Home' });
    await visitor.reads('2 of 2 events');
    await page.locator('summary ::-p-text(onerror)').click();
    await visitor.reads('"properties"');
    await visitor.click('Follow u1');
    await visitor.reads('1 of 2 events');
    expect(await list()).not.toContain('Home');
    await visitor.click('Show all');
    await visitor.reads('2 of 2 events');
    await visitor.fill('Text', 'hOmE');
    await visitor.reads('1 of 2 events');
    await visitor.click('Show all');
    await page.select('select', 'taken');
    await visitor.click('Show all');

    await visitor.click('Pause');
    await visitor.reads('Paused');
    server.analytics.track({ userId: 'u3', event: 'Later' });
    await visitor.reads('1 event has arrived since');
    expect(await list()).not.toContain('Later');
    for (let n = 0; n < 200; n++) server.analytics.track({ userId: 'u3', event: 'Later' });
    await visitor.reads('201 events have arrived since');
    await visitor.click('Pause');
    await visitor.reads('Later');

    server.app.getHttpServer().closeAllConnections();
    await visitor.reads('The connection was lost');
    await visitor.reads('Watching');
    server.analytics.track({ userId: 'u3', event: 'After it' });
    await visitor.reads('After it');
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(375);
    expect(await page.title()).toBe('Live – Analytics');

    await visitor.click('Clear');
    await visitor.reads('No events yet');
    await visitor.showTo('acme', '/analytics#/live');
    await page.reload();
    await visitor.reads('Watching');
    server.analytics.track({ userId: 'u9', event: 'Of nobody' });
    server.analytics.tenant('acme').track({ userId: 'u9', event: 'Of acme' });
    await visitor.reads('Of acme');
    expect(await list()).not.toContain('Of nobody');
  });
});
