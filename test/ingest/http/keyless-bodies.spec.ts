import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AppOptions } from '../../support/analytics-app.js';
import { quickConnections } from '../../support/quick-connections.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { type ApiAnswer, basic, PLATFORMS, TrackingServer } from './tracking-server.js';

const KEY = 'wk_web';
const OTHER_KEY = 'wk_mobile';
/** Requests that are read at once: those of 5 MB inflated, and one more. */
const READ = 11;
const SENT = 40;
const MESSAGE = { type: 'track', userId: 'u1', event: 'Tracked' };

/** Returns a batch, by default of 499 KB, which is less than 1 KB when compressed. */
function batch(writeKey?: string, padding = 499 * 1_024): string {
  return JSON.stringify({ batch: [MESSAGE], padding: 'x'.repeat(padding), writeKey });
}

describe.each(PLATFORMS)('compressed requests without a write key in a header on %s', (platform) => {
  const newConnection = quickConnections();
  const stage = new Stage();
  let server: TrackingServer;
  /** The clock stands still, so that a busy machine reads no more requests than an idle one. */
  let now: number;

  async function start(trackingApi: AppOptions['trackingApi']): Promise<TrackingServer> {
    const webhooks = webhooksTo(await stage.receiver());
    const connection = await newConnection();
    const sources = [KEY, OTHER_KEY].map((writeKey) => ({ name: writeKey, writeKey }));
    return stage.add(
      TrackingServer.start({ platform, analytics: { sources, webhooks, connection, trackingApi } }),
    );
  }

  beforeEach(async () => {
    server = await start(true);
    now = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const send = (body: string | Uint8Array, headers = {}): Promise<ApiAnswer> =>
    server.post('/v1/batch', body, headers);

  async function statusesOf(body: Uint8Array): Promise<number[]> {
    const statuses: number[] = [];
    for (let n = 0; n < SENT; n++) statuses.push((await send(body)).status);
    return statuses;
  }

  /** Returns the expected statuses: `status` for the requests that are read, and 429 for the others. */
  function refusedAfter(count: number, status: number): number[] {
    return Array.from({ length: SENT }, (_, n) => (n < count ? status : 429));
  }

  it.each([
    ['no key', 401, gzipSync(batch())],
    ['an unknown key', 401, gzipSync(batch('wk_unknown'))],
    ['no JSON', 400, gzipSync('x'.repeat(499 * 1_024))],
  ])(
    'are read up to a limit if they turn out to have %s, and then not even inflated for a second',
    async (_case, status, body) => {
      expect(await statusesOf(body)).toEqual(refusedAfter(READ, status));
      const refused = await send(body);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.body).toMatchObject({ success: false, code: 'RATE_LIMITED' });
      now += 1_000;
      expect((await send(body)).status).toBe(status);
    },
  );

  it.each([
    ['more than 500 KB', 413, gzipSync(batch(KEY, 2 ** 20))],
    ['no end', 400, gzipSync(batch(KEY)).subarray(0, -20)],
  ])(
    'are limited as well if they have %s, though later, since they are never parsed',
    async (_case, status, body) => {
      expect(await statusesOf(body)).toEqual(refusedAfter(SENT, status));
      const statuses = new Set<number>();
      for (let sent = SENT; sent < 10 * SENT; sent += SENT)
        for (const one of await statusesOf(body)) statuses.add(one);
      expect(statuses).toEqual(new Set([status, 429]));
    },
  );

  it('do not count towards the limit while they have the key of a source', async () => {
    expect(await statusesOf(gzipSync(batch(KEY)))).toEqual(refusedAfter(SENT, 200));
  });

  it('count towards the limit if their key exceeds its own limit, which only shows once they are read', async () => {
    server = await start({ rateLimit: 100 });
    expect(await statusesOf(gzipSync(batch(KEY)))).toEqual(refusedAfter(1, 200));
    expect(await send(gzipSync(batch(OTHER_KEY)))).toMatchObject({ status: 429 });
    expect(await send(batch(OTHER_KEY))).toMatchObject({ status: 200 });
  });

  it('keep out others like them for a second, but no requests that are uncompressed or have a key in the header', async () => {
    await statusesOf(gzipSync(batch()));
    expect(await send(batch(KEY))).toMatchObject({ status: 200 });
    expect(await send(gzipSync(batch()), basic(KEY))).toMatchObject({ status: 200 });
    expect(await send(gzipSync(batch(KEY)))).toMatchObject({ status: 429 });
    now += 1_000;
    expect(await send(gzipSync(batch(KEY)))).toMatchObject({ status: 200 });
  });
});
