import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import { resolveOptions } from '../../src/options/resolve-options.js';
import { authorize } from '../destinations-api/api-server.js';
import { PLATFORMS, TrackingServer } from '../ingest/http/tracking-server.js';
import type { AppOptions } from '../support/analytics-app.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { ConsoleApp, consoleOptions } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';

/** Most bytes of the page's script and styles together, compressed. */
const MAX_PAGE_BYTES = 120 * 1024;
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>';

const ATTEMPT = {
  url: 'hash',
  origin: 'https://acme.example',
  attempt: 1,
  at: 1_795_253_400_000,
  duration: 12.5,
};
/** The history that the application returns for any destination. */
const HOURS = [
  {
    hour: 1_795_251_600_000,
    delivered: 3,
    retried: 0,
    failed: 1,
    durations: { p50: 8, p95: 12.5, p99: 20 },
  },
  { hour: 1_795_255_200_000, delivered: 4, retried: 2, failed: 0, durations: undefined },
];
const HISTORY: Pick<DeliveriesService, 'recent' | 'stats' | 'totals' | 'totalsByMinute'> = {
  recent: () =>
    Promise.resolve([
      {
        messageId: 'm1',
        type: 'track',
        event: HOSTILE,
        source: 'default',
        state: 'retrying',
        at: 1_795_253_460_000,
        attempts: [
          { ...ATTEMPT, class: 'retry', error: 'TIMEOUT' },
          { ...ATTEMPT, class: 'retry', attempt: 2, status: 503, excerpt: HOSTILE },
        ],
      },
    ]),
  stats: () => Promise.resolve(HOURS),
  totals: () => Promise.resolve(HOURS.map((stats) => ({ ...stats, waiting: 3 }))),
  totalsByMinute: () =>
    Promise.resolve([{ minute: 1_795_255_200_000, delivered: 1, retried: 0, failed: 0, waiting: 3 }]),
};

/** Makes replays wait until the returned function is called. */
function holdReplays(deliveries: DeliveriesService): () => void {
  let proceed = (): void => undefined;
  const held = new Promise<void>((resolve) => (proceed = resolve));
  const replay = deliveries.replay.bind(deliveries);
  const replayLater: DeliveriesService['replay'] = (filter) => held.then(() => replay(filter));
  Object.assign(deliveries, { replay: replayLater });
  return proceed;
}

describe.each(PLATFORMS)('the console on %s', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();
  /** The application of most tests. */
  let server: TrackingServer;

  beforeAll(async () => {
    server = await start();
  });

  afterAll(async () => {
    await server.close();
  });

  async function start(options: AppOptions = {}): Promise<TrackingServer> {
    return TrackingServer.start({
      platform,
      analytics: consoleOptions({ connection: await newConnection(), trackingApi: false, ...options }),
    });
  }

  it('shows its page to known users only, without inline scripts and styles', async () => {
    const stranger = await server.send('/analytics', {});
    expect(stranger.status).toBe(401);
    expect(stranger.body).not.toContain('data-api');
    for (const [user, isOperator] of [
      ['acme', false],
      ['operator', true],
    ]) {
      const page = await server.send('/analytics', { headers: { cookie: `user=${String(user)}` } });
      expect(page.status).toBe(200);
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(page.headers.get('connection')).toBe('keep-alive');
      const policy = page.headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(page.body).toContain('data-api="/analytics/destinations"');
      expect(String(page.body).includes('data-operator')).toBe(isOperator);
      expect(page.body).not.toMatch(/<script(?![^>]* src=)|style=/);
    }
    const script = await server.send('/analytics/page.js', {});
    expect(script.headers.get('content-type')).toMatch('text/javascript');
    const styles = await server.send('/analytics/page.css', {});
    expect(styles.headers.get('content-type')).toMatch('text/css');
    expect(gzipSync(`${String(script.body)}${String(styles.body)}`).length).toBeLessThan(MAX_PAGE_BYTES);
    expect((await server.send('/analytics/other', {})).status).toBe(404);
  });

  it('accepts changes from its own page only, and logs who did what', async () => {
    const path = '/analytics/destinations';
    const body = { urls: ['https://acme.example/secret-path'] };
    const acme = { cookie: 'user=acme' };
    const page = { ...acme, 'x-analytics-console': '1' };
    const own = { ...page, 'sec-fetch-site': 'same-origin' };
    for (const [headers, code] of [
      [acme, 'CONSOLE_HEADER_MISSING'],
      [{ ...page, 'sec-fetch-site': 'cross-site' }, 'CROSS_ORIGIN'],
      [{ ...page, 'sec-fetch-site': 'same-site', origin: server.url }, 'CROSS_ORIGIN'],
      [{ ...page, origin: 'https://evil.example' }, 'CROSS_ORIGIN'],
      [{ ...page, origin: 'null' }, 'CROSS_ORIGIN'],
      [{ ...page, origin: 'https://app.example', 'x-forwarded-host': 'app.example:80' }, 'CROSS_ORIGIN'],
    ] as const) {
      const refused = await server.post(path, body, headers);
      expect(refused).toMatchObject({ status: 403, body: { error: { code } } });
      expect(refused.headers.get('cache-control')).toBe('no-store');
    }
    expect(await server.send(path, { headers: acme })).toMatchObject({ body: { destinations: [] } });

    const created = await server.post(path, body, own);
    const { id, secret } = created.body as { id: string; secret: string };
    // Some proxies name the port, which a browser leaves out if it is the default.
    for (const host of ['app.example', 'app.example:443']) {
      const proxied = { ...page, origin: 'https://app.example', 'x-forwarded-host': host };
      expect((await server.post(`${path}/${id}/disable`, {}, proxied)).status).toBe(200);
    }
    const operator = { ...page, cookie: 'user=operator', origin: server.url };
    expect((await server.post(`${path}/${id}/rotate-secret`, {}, operator)).status).toBe(200);
    expect((await server.post(`${path}/dst_none/disable`, {}, operator)).status).toBe(404);
    expect((await server.send(`${path}/${id}`, { method: 'DELETE', headers: own })).status).toBe(204);
    const lines = server.log.analytics.filter((line) => line.includes('Audit'));
    expect(lines).toEqual([
      `log: Audit: the tenant "acme" added the destination "${id}".`,
      `log: Audit: the tenant "acme" disabled the destination "${id}".`,
      `log: Audit: the tenant "acme" disabled the destination "${id}".`,
      `log: Audit: the operator rotated the secret of the destination "${id}".`,
      `log: Audit: the tenant "acme" deleted the destination "${id}".`,
    ]);
    const log = server.log.all.map(({ text }) => text).join('\n');
    for (const hidden of [secret, 'secret-path']) expect(log).not.toContain(hidden);
  });

  it('refuses users who ask too often, and nobody else', async () => {
    const ask = (user: string): ReturnType<TrackingServer['send']> =>
      server.send('/analytics', { headers: { cookie: `user=${user}` } });
    // As if all came at once, however busy the machine is.
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    const asked = Array.from({ length: 250 }, () => ask('flood'));
    const answers = await Promise.all(asked).finally(() => {
      clock.mockRestore();
    });
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(150);
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    expect((await ask('other')).status).toBe(200);
  });

  it('shows the overview to the operator only', async () => {
    const ask = (headers: Record<string, string>): ReturnType<TrackingServer['send']> =>
      server.send('/analytics/overview', { headers });
    expect(await ask({})).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
    expect(await ask({ cookie: 'user=acme' })).toMatchObject({ status: 404 });
    const { headers, body } = await ask({ cookie: 'user=operator' });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toMatchObject({
      health: { status: 'up', queue: 'up', worker: 'running', waiting: 0, oldest: 0, refused: 0 },
      stored: { hours: { length: 168 }, minutes: { length: 60 }, disabled: [] },
    });
  });

  it('shows the operator an overview even if no history is kept', async () => {
    const other = await stage.add(start({ history: false }));
    const { body } = await other.send('/analytics/overview', { headers: { cookie: 'user=operator' } });
    expect(body).toMatchObject({ health: { status: 'up' }, stored: { disabled: [] } });
    expect(Object.keys((body as { stored: object }).stored)).toEqual(['disabled']);
  });

  it('shows the sources to the operator only', async () => {
    const ask = (user: string): ReturnType<TrackingServer['send']> =>
      server.send('/analytics/sources', { headers: { cookie: `user=${user}` } });
    expect(await ask('acme')).toMatchObject({ status: 404 });
    const usage = { received: 0, filtered: 0 };
    expect((await ask('operator')).body).toEqual({
      sources: [{ name: 'default', writeKey: 'wk_test', enabled: true, usage }],
    });
  });

  // The last test: Nest logs with the logger of the application that was started last.
  it('uses the API that the application configures, which decides who may see what', async () => {
    const api = { path: '/api/hooks', authorize };
    const other = await stage.add(
      start({ console: { path: '/admin', authorize }, destinations: { encryptionKey: false, api } }),
    );
    const page = await other.send('/admin/', { headers: { cookie: 'user=acme' } });
    expect(page.body).toContain('data-api="/api/hooks"');
    expect(page.body).toContain('src="../admin/page.js"');
    for (const url of ['/admin?next=/a/b', '/admin#/a/b']) {
      const { body } = await other.send(url, { headers: { cookie: 'user=acme' } });
      expect(body).toContain('data-root="./"');
    }
    expect((await other.send('/admin/link', {})).body).toContain('data-root="../"');
    expect((await other.send('/admin/destinations', { headers: { cookie: 'user=acme' } })).status).toBe(404);
    const plain = { cookie: 'user=acme' };
    expect((await other.post('/api/hooks', { urls: ['https://acme.example'] }, plain)).status).toBe(201);
  });
});

describeWith('chromium', Browser.binary !== undefined, 'the console in a browser', () => {
  let status = 200;
  const visit = new ConsoleVisit(async (connection) => {
    const app = await ConsoleApp.start(connection, {
      answer: () => ({ status, body: HOSTILE }),
      analytics: () => ({
        webhooks: { id: 'in-code', urls: ['https://code.example/secret-path'], enabled: false },
      }),
    });
    const { server, receiver } = app;
    Object.assign(server.app.get(DeliveriesService), HISTORY);
    const destinations = server.app.get(DestinationsService);
    await destinations.create({ tenant: 'other', name: 'Of another', urls: [receiver.url('/other')] });
    return app;
  }, 'acme');

  it('takes a customer from an empty page to a destination that was tested, failed, replayed and disabled', async () => {
    const { visitor } = visit;
    const { server, receiver } = visit.app;
    const destinations = server.app.get(DestinationsService);
    await visitor.sees('There are no destinations yet');
    await visitor.click('Add a destination');
    await visitor.fill('URLs', 'acme.example');
    await visitor.click('Add');
    await visitor.sees('Expected an absolute URL');
    await visitor.fill('URLs', receiver.url());
    await visitor.fill('Name', HOSTILE);
    await visitor.fill('Types', 'track, tracks');
    await visitor.fill('Headers', `x-team: ${HOSTILE}`);
    await visitor.fill('Rate limit', 'fast');
    await visitor.fill('Metadata', '{');
    await visitor.click('Add');
    await visitor.reads('got a text that is not JSON');
    await visitor.fill('Metadata', '{"plan":"pro"}');
    await visitor.click('Add');
    await visitor.reads('got "tracks"');
    await visitor.reads('got "fast"');
    await visitor.fill('Types', 'track');
    await visitor.fill('Rate limit', '50');
    await visitor.click('Add');
    await visitor.sees('whsec_');
    await visitor.click('Show it');
    await visitor.sees('Enabled');
    const details = await visitor.text();
    for (const part of ['Types\ntrack', 'Headers\nx-team', '50 requests a second']) {
      expect(details).toContain(part);
    }
    await visitor.click('Send a test event');
    await visitor.sees('200 from');
    await visitor.sees('first byte');
    await visitor.page.locator('svg.phases[aria-label*=connect]').wait();
    await visitor.sees('7 delivered');
    expect(await visitor.page.$$eval('rect:is(.delivered, .retried, .failed)', (bars) => bars.length)).toBe(
      4,
    );
    await visitor.page.locator('[aria-label="Recent deliveries"] summary').click();
    await visitor.sees('TIMEOUT');

    status = 400;
    const messageId = server.analytics.tenant('acme').track({ userId: 'u1', event: HOSTILE });
    await until(async () => {
      await visitor.click('Refresh failed messages');
      return (await visitor.text()).includes('400 track') ? true : undefined;
    });
    const filter = visitor.page.locator('.filters input');
    await filter.fill('503');
    await visitor.page.keyboard.press('Enter');
    await visitor.reads('No matching message has failed for good');
    await filter.fill('400');
    await visitor.page.keyboard.press('Enter');
    await visitor.reads('400 track');
    const failed = visitor.page.locator('input[type=checkbox]');
    await failed.click();
    await visitor.sees('Replay 1 message');
    const [{ id } = { id: '' }] = (await destinations.list({ tenant: 'acme' })).destinations;
    await visitor.goTo(`#/destinations/${id}/messages/${messageId}`);
    await visitor.sees('The receiver considers the request invalid.');
    await visitor.sees('The same with curl');
    expect(await visitor.text()).toContain(`curl --include --http1.1 --globoff --request POST`);
    await visitor.click('The destination');
    status = 200;
    const proceed = holdReplays(server.app.get(DeliveriesService));
    await visitor.click('Replay all that match');
    await visitor.reads('0 of 1 message');
    proceed();
    await visitor.sees('1 message is delivered again.');
    await receiver.received(3);

    await visitor.click('Rotate the secret');
    await visitor.sees('whsec_');
    await visitor.click('Disable');
    await visitor.sees('Disabled');
    await visitor.click('Enable');
    await visitor.sees('Enabled');
    await visitor.click('Edit');
    await visitor.fill('Name', 'Renamed');
    await visitor.click('Save');
    await visitor.sees('Renamed');
    await visitor.click('All destinations');
    await visitor.sees('Changed');
    expect(await visitor.text()).not.toContain('Of another');

    // The title is set after the text.
    await visitor.page.waitForFunction(`document.title === 'Destinations – Analytics'`);
    expect(visitor.complaints.filter((text) => !/status of (422|501)/.test(text))).toEqual([]);
    await visitor.page.goto(`${server.url}/analytics#/destinations/${id}`);
    await visitor.click('Delete');
    await visitor.sees('There are no destinations yet');
  });

  it('shows the operator the overview first', async () => {
    const { visitor } = visit;
    const { server } = visit.app;
    await visitor.showTo('operator', '/analytics');
    await visitor.sees('Overview');
    await visitor.sees('7 delivered');
    const bars =
      '[...document.querySelectorAll(".chart")].map((chart) => chart.querySelectorAll("rect").length)';
    expect(await visitor.page.evaluate(bars)).toEqual([1, 4]);
    const text = await visitor.text();
    for (const part of ['The queue\nUp', 'Waiting\n0', 'Running', 'None, as seen by this process.']) {
      expect(text).toContain(part);
    }
    await visitor.click('Destinations');
    await visitor.sees('Of another');
    await visitor.click('https://code.example');
    await visitor.reads("This destination is configured in the application's code");
    const configured = await visitor.text();
    for (const part of ['Edit', 'Enable', 'Rotate', 'secret-path', 'Created']) {
      expect(configured).not.toContain(part);
    }
    expect(await visitor.page.$$('[role=alert]')).toEqual([]);
    await visitor.click('Sources');
    await visitor.sees('Since this process started');
    await visitor.page.locator('summary').click();
    await visitor.sees('AnalyticsBrowser.load');
    expect(await visitor.text()).toContain(`'${new URL(server.url).host}/v1'`);
  });
});

describe('the options of the console', () => {
  it.each<[string, object, string]>([
    ['no `authorize`', { destinations: {}, console: {} }, 'console.authorize'],
    ['a console that is no object', { destinations: {}, console: true }, 'console'],
    ['a console without destinations', { console: { authorize } }, 'destinations'],
    ['a name that is unknown', { destinations: {}, console: { authorize, at: '/' } }, 'console.at'],
    [
      'a frame of no origin',
      { destinations: {}, console: { authorize, frameAncestors: ['https://a.example;'] } },
      'console.frameAncestors[0]',
    ],
    ['the root as its path', { destinations: {}, console: { authorize, path: '/' } }, 'console.path'],
    [
      "a path below the API's",
      { destinations: { api: { authorize, path: '/hooks' } }, console: { authorize, path: '/hooks/page' } },
      'console.path',
    ],
  ])('%s is reported', (_, options, path) => {
    const resolve = (): unknown => resolveOptions({ writeKey: 'wk', ...options }, { worker: true });
    expect(resolve).toThrow(expect.objectContaining({ problems: [expect.objectContaining({ path })] }));
  });
});
