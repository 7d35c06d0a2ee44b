import { hostname } from 'node:os';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { firstValueFrom, take, toArray } from 'rxjs';
import {
  DeliveriesService,
  DestinationsService,
  type EndpointEvent,
  type WebhooksOptions,
} from '../../src/index.js';
import { type AnalyticsApp } from '../support/analytics-app.js';
import { createCertificates } from '../support/certificates.js';
import type { Answer, Receiver } from '../support/receiver.js';
import { messageIn } from '../support/received-message.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const newConnection = quickConnections();
/** Long enough for many attempts. The first retry comes after a few milliseconds. */
const RETRY_WINDOW = 20_000;

function endpointEvents(app: AnalyticsApp, count: number): Promise<EndpointEvent[]> {
  return firstValueFrom(app.context.get(DeliveriesService).endpoints$.pipe(take(count), toArray()));
}

describe('endpoints$', () => {
  const stage = new Stage();

  it('reports that a URL went down, since when and after how many requests, and that it came back', async () => {
    const answers: Answer[] = [...Array<number>(6).fill(503), 200];
    const receiver = await stage.receiver({ answer: answers });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { retryWindow: RETRY_WINDOW }),
    });
    const events = endpointEvents(app, 2);
    const before = Date.now();
    app.analytics.track({ userId: 'u1', event: 'Retried' });
    await app.analytics.flush();

    const [down, up] = await events;
    const endpoint = {
      destination: 'webhooks',
      origin: new URL(receiver.url()).origin,
      url: expect.stringMatching(/^[0-9a-f]{16}$/),
      failedMessages: 0,
    };
    expect(down).toEqual({ ...endpoint, type: 'down', since: expect.any(Number), failures: 5, status: 503 });
    expect(down?.since).toBeGreaterThanOrEqual(before);
    expect(up).toEqual({ ...endpoint, type: 'up', since: down?.since, failures: 6, status: 200 });
  });

  it('reports only the first message that a URL exhausts, until the URL takes a message again', async () => {
    let isBack = false;
    const receiver = await stage.receiver({
      answer: (request) => (isBack && messageIn(request).event !== 'Refused' ? 200 : 404),
    });
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    const events = endpointEvents(app, 3);
    const track = async (...names: string[]): Promise<void> => {
      for (const event of names) app.analytics.track({ userId: 'u1', event });
      await app.analytics.flush();
      await app.settled();
    };
    await track('Refused', 'Refused', 'Refused');
    isBack = true;
    await track('Taken');
    await track('Refused');

    expect(await events).toMatchObject([
      { type: 'exhausted', status: 404, failedMessages: 1 },
      { type: 'up', status: 200, failures: 3, failedMessages: 3 },
      { type: 'exhausted', status: 404, failures: 1, failedMessages: 1 },
    ]);
  });

  it('reports each URL separately', async () => {
    const receivers = [await stage.receiver({ answer: [404] }), await stage.receiver({ answer: [410] })];
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receivers, { id: 'crm' }),
    });
    const events = endpointEvents(app, 2);
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();

    expect(await events).toMatchObject(
      receivers.map((receiver, n) => ({
        type: 'exhausted',
        destination: 'crm',
        origin: new URL(receiver.url()).origin,
        status: [404, 410][n],
      })),
    );
  });
});

describe('the URL of a destination at run time', () => {
  const stage = new Stage();
  afterEach(() => {
    jest.restoreAllMocks();
  });

  interface DownEndpoint {
    app: AnalyticsApp;
    destinations: DestinationsService;
    id: string;
    events: EndpointEvent[];
    track: () => Promise<void>;
    downUrls: () => string[];
  }

  /** Starts an application with a destination at run time whose URL is down. */
  async function downEndpoint(
    receiver: Receiver,
    { timeout = 5_000, retryWindow = RETRY_WINDOW } = {},
  ): Promise<DownEndpoint> {
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { allowPrivateNetwork: true },
    });
    const events: EndpointEvent[] = [];
    app.context.get(DeliveriesService).endpoints$.subscribe((event) => events.push(event));
    const destinations = app.context.get(DestinationsService);
    const urls = [receiver.url()];
    const { id } = await destinations.create({ tenant: 'acme', urls, timeout, retryWindow });
    const track = async (): Promise<void> => {
      for (let n = 0; n < 5; n++) app.analytics.tenant('acme').track({ userId: 'u1', event: `Event ${n}` });
      await app.analytics.flush();
    };
    const downUrls = (): string[] => app.analytics.status().endpointsDown.map(({ url }) => url);
    await track();
    await until(() => events.find(({ type }) => type === 'down'));
    expect(downUrls()).toHaveLength(1);
    return { app, destinations, id, events, track, downUrls };
  }

  it('is up when it answers within a longer timeout that its owner has set', async () => {
    const receiver = await stage.receiver({
      answer: () => new Promise((resolve) => setTimeout(resolve, 300, 200)),
    });
    const { app, destinations, id, events, track, downUrls } = await downEndpoint(receiver, { timeout: 50 });
    await destinations.update(id, { timeout: 30_000 });
    await app.settled();
    await track();
    await app.settled();
    expect(events).toMatchObject([
      { type: 'down', destination: id, error: 'TIMEOUT' },
      { type: 'up', destination: id, status: 200 },
    ]);
    expect(downUrls()).toEqual([]);
    expect(app.log.analytics.filter((line) => line.includes('takes events again'))).toHaveLength(1);
  });

  it('is reported up after any time without messages', async () => {
    let isBack = false;
    const receiver = await stage.receiver({ answer: () => (isBack ? 200 : 503) });
    const { app, destinations, events, track, downUrls } = await downEndpoint(receiver, {
      retryWindow: 2_000,
    });
    const other = await stage.receiver();
    await destinations.create({ tenant: 'other', urls: [other.url()] });
    await app.settled();
    const now = Date.now;
    jest.spyOn(Date, 'now').mockImplementation(() => now() + 11 * 60_000);
    app.analytics.tenant('other').track({ userId: 'u1', event: 'E' });
    await app.analytics.flush();
    await other.received(1);
    isBack = true;
    await track();
    await app.settled();
    expect(events.map(({ type }) => type)).toEqual(['down', 'exhausted', 'up']);
    expect(downUrls()).toEqual([]);
  });

  it('is reported once for refusing messages, however rarely it gets them, and once when it takes messages again', async () => {
    let isRepaired = false;
    const receiver = await stage.receiver({ answer: () => (isRepaired ? 200 : 404) });
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { allowPrivateNetwork: true },
    });
    const events: EndpointEvent[] = [];
    app.context.get(DeliveriesService).endpoints$.subscribe((event) => events.push(event));
    await app.context.get(DestinationsService).create({ tenant: 'acme', urls: [receiver.url()] });
    const now = Date.now;
    for (let hour = 0; hour < 3; hour++) {
      jest.spyOn(Date, 'now').mockImplementation(() => now() + hour * 3_600_000);
      isRepaired = hour === 2;
      app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
      await app.analytics.flush();
      await receiver.received(hour + 1);
      await app.settled();
    }
    expect(events.map(({ type }) => type)).toEqual(['exhausted', 'up']);
    const lines = app.log.analytics.filter((line) => /takes? events|does not take/.test(line));
    expect(lines).toEqual([
      expect.stringContaining('does not take events'),
      expect.stringContaining('takes events again'),
    ]);
  });

  it.each<[string, (destinations: DestinationsService, id: string) => Promise<unknown>]>([
    ['it is replaced', (destinations, id) => destinations.update(id, { urls: ['http://127.0.0.1:1/'] })],
    ['its destination is disabled', (destinations, id) => destinations.disable(id)],
    ['its destination is deleted', (destinations, id) => destinations.delete(id)],
  ])('is no longer listed as down when %s', async (_what, depart) => {
    const receiver = await stage.receiver({ answer: [503] });
    const { destinations, id, downUrls } = await downEndpoint(receiver);
    const [url = ''] = downUrls();
    await depart(destinations, id);
    await until(() => !downUrls().includes(url) || undefined);
  });
});

describe('the log about a URL that cannot be used', () => {
  const stage = new Stage();

  /** Returns the log after several batches, none of which can be delivered. */
  async function logOf(webhooks: WebhooksOptions): Promise<string[]> {
    const app = await stage.app({ connection: await newConnection(), webhooks });
    for (let n = 0; n < 3; n++) {
      app.analytics.track({ userId: 'u1', event: `Event ${n}`, properties: { card: 'payload-token' } });
      await app.analytics.flush();
    }
    await app.settled();
    expect(await app.queue.getFailedCount()).toBe(3);
    return app.log.analytics;
  }

  it('has one error for a certificate that is not trusted, with what to do', async () => {
    const { selfSigned } = createCertificates();
    const receiver = await stage.receiver({ tls: selfSigned });
    expect(await logOf(webhooksTo(receiver))).toEqual([
      expect.stringMatching(
        /^error: https:.* does not take events: TLS_SELF_SIGNED\. .*install a valid certificate/,
      ),
    ]);
    expect(receiver.requests).toEqual([]);
  });

  it('has one warning for `https:` at a port that speaks plain HTTP, with what to do', async () => {
    const receiver = await stage.receiver();
    const urls = [receiver.url().replace('http:', 'https:')];
    const webhooks = { ...webhooksTo(receiver), urls };
    const app = await stage.app({ connection: await newConnection(), webhooks });
    app.analytics.track({ userId: 'u1', event: 'E' });
    await app.analytics.flush();
    expect(await app.log.line(/does not take/)).toMatch(
      /^warn: https:.* does not take events: TLS_FAILED\. .*Use `http:` for it, or its https port/,
    );
  });

  it('has one error for an address that is refused, which names `allowPrivateNetwork`', async () => {
    const receiver = await stage.receiver();
    // The host name of this machine leads to the machine itself. `localhost` would be refused when the module starts.
    const url = receiver.url().replace('127.0.0.1', hostname());
    expect(await logOf({ urls: [url] })).toEqual([
      expect.stringMatching(/^error: http:\/\/.* ADDRESS_REFUSED\. .*`allowPrivateNetwork: true`/),
    ]);
    expect(receiver.requests).toEqual([]);
  });

  it('has one warning for a URL that refuses everything, and no line for later refusals', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    for (let n = 0; n < 12; n++) app.analytics.track({ userId: 'u1', event: `Event ${n}` });
    await app.analytics.flush();
    await app.settled();
    expect(app.log.analytics).toEqual([
      expect.stringMatching(/^warn: .* does not take events: status 404\. .*kept as failed/),
    ]);
  });

  it('holds no secret, header value, path of a URL, or body', async () => {
    const receiver = await stage.receiver({ answer: [{ status: 503, body: 'answer-token' }, 404] });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: {
        urls: [receiver.url('/path-token?query-token=1')],
        headers: { 'X-Token': 'header-token' },
        sharedSecret: 'signing-token',
        allowPrivateNetwork: true,
        retryWindow: RETRY_WINDOW,
      },
    });
    for (let n = 0; n < 6; n++) {
      app.analytics.track({
        userId: 'user-token',
        event: 'event-token',
        properties: { card: 'payload-token' },
      });
    }
    await app.analytics.flush();
    await app.settled();
    const logged = app.log.analytics.join('\n');
    expect(logged).toContain('status 503');
    expect(logged).toContain('status 404');
    expect(logged).not.toMatch(/-token/);
  });
});
