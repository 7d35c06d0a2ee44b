import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import type { DestinationPageQuery, StoredDestination } from '../../src/options/destination-store.js';
import { MemoryDestinationStore } from '../stored-destinations/memory-destination-store.js';
import { PLATFORMS, TrackingServer } from '../ingest/http/tracking-server.js';
import { Browser } from '../support/browser.js';
import { describeServers, describeWith } from '../support/describe-backend.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { ConsoleApp, consoleOptions } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';
import { RowList } from './row-list.js';
import { Watcher } from './watcher.js';

const OPERATOR = { cookie: 'user=operator' };
const ACME = { cookie: 'user=acme' };

class ListedStore extends MemoryDestinationStore {
  /** For each listing, the most destinations that it asked for. */
  readonly limits: number[] = [];

  override list(query: DestinationPageQuery): Promise<StoredDestination[]> {
    this.limits.push(query.limit);
    return super.list(query);
  }
}

describe.each(PLATFORMS)('the stream of changes on %s', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('refuses readers who may not see the destinations, and tells the others of each change', async () => {
    const { server, receiver, url } = await stage.add(ConsoleApp.start(await newConnection(), { platform }));
    const destinations = server.app.get(DestinationsService);
    const add = async (tenant: string): Promise<string> => {
      const { id } = await destinations.create({ tenant, urls: [receiver.url()] });
      return id;
    };
    const [own, foreign] = [await add('acme'), await add('other')];
    const of = (id: string): string => `/changes?destination=${id}`;
    const ask = async (path: string, headers: Record<string, string>): Promise<unknown> => {
      const { status, body } = await server.send(`/analytics${path}`, {
        headers: { 'x-analytics-console': '1', ...headers },
      });
      return [status, (body as { error: { code: string } }).error.code];
    };
    expect(await ask('/changes', {})).toEqual([401, 'UNAUTHORIZED']);
    expect(await ask('/changes', ACME)).toEqual([404, 'NOT_FOUND']);
    expect(await ask(of(foreign), ACME)).toEqual([404, 'DESTINATION_NOT_FOUND']);
    expect(await ask(of('dst_none'), OPERATOR)).toEqual([404, 'DESTINATION_NOT_FOUND']);
    expect(await ask('/changes?of=all', OPERATOR)).toEqual([422, 'INVALID_REQUEST']);
    const withoutHeader = await server.send('/analytics/changes', { headers: OPERATOR });
    expect(withoutHeader).toMatchObject({ status: 403, body: { error: { code: 'CONSOLE_HEADER_MISSING' } } });
    for (const path of ['/changes', '/live']) {
      const elsewhere = { ...OPERATOR, 'sec-fetch-site': 'cross-site' };
      expect(await ask(path, elsewhere)).toEqual([403, 'CROSS_ORIGIN']);
    }

    const watch = (path: string, headers: Record<string, string>): Promise<Watcher> =>
      stage.add(Watcher.open(url, headers, path));
    const [ofOwn, ofForeign, ofAll] = [
      await watch(of(own), ACME),
      await watch(of(foreign), OPERATOR),
      await watch('/changes', OPERATOR),
    ];
    expect(ofOwn.answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
    });
    const changes = ({ parts }: Watcher): number => parts.filter(({ event }) => event === 'changed').length;
    const changed = (watcher: Watcher): Promise<true> =>
      until(() => (changes(watcher) > 0 ? true : undefined));
    server.analytics.tenant('other').track({ userId: 'u1', event: 'Delivered' });
    await Promise.all([changed(ofForeign), changed(ofAll)]);
    await destinations.update(own, { name: 'Warehouse' });
    await changed(ofOwn);
    expect(changes(ofOwn)).toBe(1);
    expect(ofOwn.parts.every(({ data }) => JSON.stringify(data) === '{}')).toBe(true);
  });

  it('reads the destinations once for all pages of the operator, at most a hundred at a time', async () => {
    const store = new ListedStore();
    const { server, url } = await stage.add(
      ConsoleApp.start(await newConnection(), {
        platform,
        analytics: () => ({ destinations: { store, encryptionKey: '0'.repeat(64) } }),
      }),
    );
    const destinations = server.app.get(DestinationsService);
    const created = await Promise.all(
      Array.from({ length: 250 }, () => destinations.create({ urls: ['https://hooks.example.com/'] })),
    );
    const last =
      created
        .map(({ id }) => id)
        .sort()
        .at(-1) ?? '';
    await destinations.disable(last);
    store.limits.length = 0;

    const overview = await server.send('/analytics/overview', { headers: OPERATOR });
    expect(overview.body).toMatchObject({ stored: { disabled: [{ id: last }] } });
    expect(Math.max(...store.limits)).toBeLessThanOrEqual(100);
    const pagesOfOne = store.limits.length;
    await Promise.all(Array.from({ length: 20 }, () => stage.add(Watcher.open(url, OPERATOR, '/changes'))));
    expect(store.limits.length).toBeLessThan(10 * pagesOfOne);
  });

  it('ends when the destination is deleted, and allows a tenant twenty pages at a time', async () => {
    const { server, receiver, url } = await stage.add(ConsoleApp.start(await newConnection(), { platform }));
    const destinations = server.app.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    const watch = (headers: Record<string, string>): Promise<Watcher> =>
      stage.add(Watcher.open(url, headers, `/changes?destination=${id}`));
    const watchers = await Promise.all(Array.from({ length: 20 }, () => watch(ACME)));
    expect((await watch(ACME)).answer.statusCode).toBe(429);
    expect((await watch(OPERATOR)).answer.statusCode).toBe(200);
    await destinations.delete(id);
    await Promise.all(watchers.map(({ ended }) => ended));
    for (const { parts } of watchers) {
      const data = expect.objectContaining({
        error: expect.objectContaining({ code: 'DESTINATION_NOT_FOUND' }),
      });
      expect(parts.at(-1)).toMatchObject({ event: 'away', data });
    }
    // More than may be open: a stream that is refused takes up no place.
    for (let n = 0; n < 21; n++) expect((await watch(ACME)).answer.statusCode).toBe(404);
    expect(server.log.errors).toEqual([]);
  });
});

describeServers('the stream of changes', (backend) => {
  const stage = new Stage();

  it('tells of changes by the process that delivers', async () => {
    const { connection } = backend;
    const destinations = { encryptionKey: 'e'.repeat(64), allowPrivateNetwork: true };
    const receiver = await stage.receiver();
    const producer = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: consoleOptions({ connection, destinations, worker: false }),
      }),
    );
    const { id } = await producer.app
      .get(DestinationsService)
      .create({ tenant: 'acme', urls: [receiver.url()] });
    const watcher = await stage.add(
      Watcher.open(`${producer.url}/analytics`, ACME, `/changes?destination=${id}`),
    );
    await stage.app({ connection, destinations });
    producer.analytics.tenant('acme').track({ userId: 'u1', event: 'Delivered' });
    await until(() => watcher.parts.find(({ event }) => event === 'changed'));
    expect(receiver.requests).toHaveLength(1);
  });

  it('goes on while the queue is away, which the overview reports', async () => {
    const analytics = consoleOptions({ connection: backend.connection, shutdownTimeout: 500 });
    const server = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
    const watcher = await stage.add(Watcher.open(`${server.url}/analytics`, OPERATOR, '/changes'));
    const overview = async (): Promise<unknown> =>
      (await server.send('/analytics/overview', { headers: OPERATOR })).body;
    expect(await overview()).toMatchObject({ health: { queue: 'up' }, stored: { disabled: [] } });
    await backend.server.stop();
    await until(() => watcher.parts.find(({ event }) => event === 'changed'));
    const away = await overview();
    expect(away).toMatchObject({ health: { status: 'down', queue: 'down' } });
    expect(away).not.toHaveProperty('stored');
    const changes = watcher.parts.length;
    await backend.server.start();
    await until(() => (watcher.parts.length > changes ? true : undefined));
    expect(watcher.parts.map(({ event }) => event)).not.toContain('away');
  });
});

describeWith('chromium', Browser.binary !== undefined, 'a page of the console that is open', () => {
  let hookStatus = 400;
  const visit = new ConsoleVisit(
    (connection) =>
      ConsoleApp.start(connection, {
        answer: ({ url }) => (url === '/away' ? 503 : url === '/hook' ? hookStatus : 200),
        analytics: () => ({
          beforeSend: (message) => {
            if (message.userId === 'nobody') throw new Error('nobody is tracked');
            return message;
          },
        }),
      }),
    'operator',
  );

  const track = (event: string): string =>
    visit.app.server.analytics.tenant('acme').track({ userId: 'u1', event });

  it('renews the overview by itself, without a jump, even after the connection was lost', async () => {
    const { visitor, app } = visit;
    const { server, receiver } = app;
    await server.app.get(DestinationsService).create({ tenant: 'acme', urls: [receiver.url()] });
    await visitor.sees('The last seven days');
    const shifts = await visitor.layoutShifts();
    track('First');
    await visitor.reads('1 delivered');
    server.app.getHttpServer().closeAllConnections();
    await visitor.reads('The connection was lost. Retrying automatically.');
    track('Second');
    await visitor.reads('2 delivered');
    expect(await visitor.text()).not.toContain('The connection was lost');
    expect(await shifts()).toEqual([]);
  });

  it('shows at once what is down, disabled, waiting or refused', async () => {
    const { visitor, app } = visit;
    const { server, receiver } = app;
    const destinations = server.app.get(DestinationsService);
    const add = async (name: string): Promise<string> => {
      const { id } = await destinations.create({ tenant: name, name, urls: [receiver.url('/away')] });
      return id;
    };
    await add('initech');
    await destinations.disable(await add('Umbrella'), { reason: 'not paid' });
    await visitor.reads('Disabled: not paid');
    await visitor.reads('None, as seen by this process.');
    for (let n = 0; n < 5; n++) server.analytics.tenant('initech').track({ userId: 'u1', event: 'Sent' });
    server.analytics.track({ userId: 'nobody', event: 'Sent' });
    await visitor.reads('down since');
    await visitor.reads('Waiting\n5');
    await visitor.reads('Refused by this process\n1');
    await visitor.click(`http://127.0.0.1:${receiver.port}`);
    await visitor.sees('All destinations');
  });

  it('renews the deliveries of its destination by itself, and leaves its reader where they are', async () => {
    const { visitor, app } = visit;
    const { server, receiver } = app;
    const { id } = await server.app
      .get(DestinationsService)
      .create({ tenant: 'acme', urls: [receiver.url()] });
    await visitor.showTo('acme', '/analytics');
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('Nothing was delivered in the last seven days');
    for (let n = 0; n < 30; n++) track(`Event ${n}`);
    await visitor.reads('30 delivered');
    const list = new RowList(visitor.page, '[aria-label="Recent deliveries"]');
    await until(async () => ((await list.count()).all === 30 ? true : undefined));
    await list.read(15);
    const shifts = await visitor.layoutShifts();
    const comesIn = async (): Promise<void> => {
      track('The latest one');
      await list.begins('The latest one');
    };
    expect(await list.staysWhile(comesIn)).toBe(true);
    expect(await shifts()).toEqual([]);
    expect((await list.count()).all).toBe(31);
  });

  it('no longer shows a message as failed once somebody else has replayed it', async () => {
    const { visitor, app } = visit;
    const { server, receiver } = app;
    const { id } = await server.app
      .get(DestinationsService)
      .create({ tenant: 'initech', urls: [receiver.url('/hook')] });
    const messageId = server.analytics.tenant('initech').track({ userId: 'u1', event: 'Refused' });
    await visitor.showTo('operator', '/analytics');
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.page.locator(`::-p-aria(Select ${messageId})`).wait();
    await visitor.reads('1 failed');
    hookStatus = 200;
    await server.app.get(DeliveriesService).replay({ destination: id });
    await visitor.reads('No matching message has failed for good.');
  });

  it('listens for changes only while it can be seen', async () => {
    const { visitor, app } = visit;
    const streams = new Set<ServerResponse>();
    app.server.app.getHttpServer().on('request', ({ url }: IncomingMessage, response: ServerResponse) => {
      if (url?.includes('/changes') !== true) return;
      streams.add(response);
      response.once('close', () => streams.delete(response));
    });
    const areOpen = (count: number): Promise<true> =>
      until(() => (streams.size === count ? true : undefined));
    await visitor.showTo('operator', '/analytics');
    await visitor.sees('The last seven days');
    await areOpen(1);
    await visitor.lookAway(() => areOpen(0));
    await areOpen(1);
  });
});
