import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { messageIn, type ReceivedMessage } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { shareServer } from './shared-server.js';
import { basic, PLATFORMS, type TrackingServer } from './tracking-server.js';

const KEY = 'wk_web';
const HEADERS = basic(KEY);
const TRACK = { type: 'track', userId: 'u1', event: 'Opened' };
const LONG_AGO = '2012-12-02T00:30:08.276Z';

describe.each(PLATFORMS)('the tracking API on %s', (platform) => {
  let receiver: Receiver;
  let server: TrackingServer;

  shareServer(
    {
      platform,
      trustProxy: true,
      analytics: {
        sources: [
          { name: 'web', writeKey: KEY },
          { name: 'old', writeKey: 'wk_old', enabled: false },
          { name: 'colons', writeKey: 'wk:with:colons' },
        ],
      },
    },
    (shared) => ({ server, receiver } = shared),
  );

  /** Resolves to the delivered messages once the receiver has this many. */
  async function delivered(count: number): Promise<ReceivedMessage[]> {
    const requests = await receiver.received(count);
    return requests.map(messageIn);
  }

  async function deliveredOne(): Promise<ReceivedMessage> {
    const [message] = await delivered(1);
    if (message === undefined) throw new Error('Nothing was delivered');
    return message;
  }

  it.each([
    ['/v1/batch', { batch: [TRACK] }, 'track'],
    ['/v1/import', { batch: [TRACK] }, 'track'],
    ['/v1/b', { batch: [TRACK] }, 'track'],
    ['/v1/batch/?via=proxy', { batch: [TRACK] }, 'track'],
    ['/v1/track', TRACK, 'track'],
    ['/v1/t', TRACK, 'track'],
    ['/v1/identify', { userId: 'u1', traits: { plan: 'pro' } }, 'identify'],
    ['/v1/i', { userId: 'u1' }, 'identify'],
    ['/v1/page', { anonymousId: 'a1', name: 'Home' }, 'page'],
    ['/v1/p', { anonymousId: 'a1' }, 'page'],
    ['/v1/screen', { userId: 'u1', name: 'Start' }, 'screen'],
    ['/v1/s', { userId: 'u1' }, 'screen'],
    ['/v1/group', { userId: 'u1', groupId: 'g1' }, 'group'],
    ['/v1/g', { userId: 'u1', groupId: 'g1' }, 'group'],
    ['/v1/alias', { userId: 'u1', previousId: 'a1' }, 'alias'],
    ['/v1/a', { userId: 'u1', previousId: 'a1' }, 'alias'],
  ])('takes messages that are posted to %s, and delivers them', async (path, body, type) => {
    expect(await server.post(path, body, HEADERS)).toMatchObject({ status: 200, body: { success: true } });
    expect(await deliveredOne()).toMatchObject({ version: 1, type });
  });

  it.each([
    ['the user name of Basic authentication', {}, basic(KEY)],
    ['the user name, also beside a password', {}, { authorization: `Basic ${btoa(`${KEY}:secret`)}` }],
    ['the user name, without a colon after it', {}, { authorization: `Basic ${btoa(KEY)}` }],
    ['the user name, also with colons in it', {}, basic('wk:with:colons')],
    ['the body', { writeKey: KEY }, {}],
    ['Bearer authentication', {}, { authorization: `Bearer ${KEY}` }],
    ['the body, where the user name is empty', { writeKey: KEY }, basic('')],
    ['the body, where a Bearer header has another', { writeKey: KEY }, { authorization: 'Bearer other' }],
    ['the header, where the body has another', { writeKey: 'other' }, basic(KEY)],
  ])('finds the write key in %s', async (_place, fields, headers: Record<string, string>) => {
    const answer = await server.post('/v1/batch', { batch: [TRACK], ...fields }, headers);
    expect(answer.status).toBe(200);
    await delivered(1);
  });

  it.each([
    ['an unknown key in the header', {}, basic('wk_wrong')],
    ['an unknown key in the header and a known one in the body', { writeKey: KEY }, basic('wk_wrong')],
    ['an unknown key in the body', { writeKey: 'wk_wrong' }, {}],
    ['the beginning of a key', { writeKey: KEY.slice(0, -1) }, {}],
    ['an empty key', { writeKey: '' }, basic('')],
    ['a key that is no text', { writeKey: 7 }, {}],
    ['no key', {}, {}],
    ['a header that is no credentials', {}, { authorization: 'Basic \u00fc' }],
  ])('answers 401 to %s', async (_case, fields, headers: Record<string, string>) => {
    const answer = await server.post('/v1/batch', { batch: [TRACK], ...fields }, headers);
    expect(answer).toMatchObject({ status: 401, body: { success: false, code: 'UNKNOWN_WRITE_KEY' } });
  });

  const delivery = { 'user-agent': 'NestAnalytics/1.0', 'webhook-id': 'm1' };

  it.each([HEADERS, {}])('answers 403 to a webhook delivery, before it reads the body', async (key) => {
    expect(await server.post('/v1/track', 'no JSON', { ...delivery, ...key })).toMatchObject({
      status: 403,
      body: { success: false, code: 'WEBHOOK_DELIVERY', message: expect.stringContaining('`endpoint`') },
    });
  });

  it.each(Object.entries(delivery))('takes a request that has only the `%s` of one', async (name, value) => {
    const answer = await server.post('/v1/track', TRACK, { ...HEADERS, [name]: value });
    expect(answer).toMatchObject({ status: 200, body: { success: true } });
    await delivered(1);
  });

  it('answers 200 for a disabled source, and drops its messages', async () => {
    const answer = await server.post('/v1/track', { ...TRACK, messageId: 'dropped' }, basic('wk_old'));
    expect(answer).toMatchObject({ status: 200, body: { success: true } });
    await server.post('/v1/track', { ...TRACK, messageId: 'kept' }, HEADERS);
    expect((await delivered(1)).map(({ messageId }) => messageId)).toEqual(['kept']);
  });

  it('answers once the messages are in the queue', async () => {
    await server.post('/v1/batch', { batch: [TRACK, TRACK, TRACK] }, HEADERS);
    expect(await server.analytics.flush()).toEqual({ queued: 0, refused: 0, pending: 0 });
    await delivered(3);
  });

  it('answers metrics that browser libraries send, and ignores them', async () => {
    const answer = await server.post('/v1/m', { series: [{ type: 'Counter', metric: 'x' }] });
    expect(answer).toMatchObject({ status: 200, body: { success: true } });
  });

  it('turns numeric ids into text', async () => {
    const group = { type: 'group', userId: 7, anonymousId: 0, groupId: 12.5 };
    const alias = { type: 'alias', userId: 7, previousId: 8 };
    expect(await server.post('/v1/batch', { batch: [group, alias] }, HEADERS)).toMatchObject({
      body: { success: true },
    });
    const messages = await delivered(2);
    expect(messages.find(({ type }) => type === 'group')).toMatchObject({
      userId: '7',
      anonymousId: '0',
      groupId: '12.5',
    });
    expect(messages.find(({ type }) => type === 'alias')).toMatchObject({
      'Previous ID': '8',
      'User ID': '7',
    });
  });

  it('merges the context and integrations of each message over those of its batch', async () => {
    const batch = {
      context: { app: { name: 'shop' }, locale: 'de' },
      integrations: { Webhooks: false },
      batch: [
        { ...TRACK, messageId: 'kept', context: { locale: 'fr' }, integrations: { Webhooks: true } },
        { ...TRACK, messageId: 'switched off' },
      ],
    };
    await server.post('/v1/batch', batch, HEADERS);
    await server.post('/v1/track', { ...TRACK, messageId: 'last' }, HEADERS);
    const messages = await delivered(2);
    expect(messages.map(({ messageId }) => messageId).sort()).toEqual(['kept', 'last']);
    const kept = messages.find(({ messageId }) => messageId === 'kept');
    expect(kept?.context).toMatchObject({ app: { name: 'shop' }, locale: 'fr' });
  });

  it('treats `all` in integrations as `All`', async () => {
    const batch = [
      { ...TRACK, messageId: 'none', integrations: { all: false } },
      { ...TRACK, messageId: 'own', integrations: { all: false, Webhooks: { option: 1 } } },
    ];
    await server.post('/v1/batch', { batch }, HEADERS);
    expect((await deliveredOne()).messageId).toBe('own');
  });

  it('detects JSON and gzip by the body itself, whatever the content type', async () => {
    const batch = { batch: [TRACK], writeKey: KEY };
    const beacon = await server.post('/v1/b', JSON.stringify(batch), { 'content-type': 'text/plain' });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const unannounced = await server.post('/v1/batch', gzipSync(JSON.stringify(batch)), form);
    const announced = await server.post('/v1/batch', gzipSync(JSON.stringify(batch)), {
      'content-encoding': 'gzip',
    });
    expect([beacon.status, unannounced.status, announced.status]).toEqual([200, 200, 200]);
    await delivered(3);
  });

  it('takes requests from any page, and answers their preflights without allowing credentials', async () => {
    const preflight = await server.send('/v1/batch', {
      method: 'OPTIONS',
      headers: {
        origin: 'https://shop.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-retry-count',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-methods')).toBe('POST');
    expect(preflight.headers.get('access-control-allow-headers')).toBe(
      'authorization, content-type, x-retry-count',
    );
    expect(preflight.headers.has('access-control-allow-credentials')).toBe(false);

    const origin = { origin: 'https://shop.example' };
    const taken = await server.post('/v1/t', TRACK, { ...HEADERS, ...origin });
    const refused = await server.post('/v1/t', TRACK, origin);
    expect([taken.status, refused.status]).toEqual([200, 401]);
    for (const { headers } of [taken, refused]) {
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.has('set-cookie')).toBe(false);
    }
    await delivered(1);
  });

  it('stamps a message without a time with the time of its arrival', async () => {
    const before = Date.now();
    await server.post('/v1/track', TRACK, HEADERS);
    const after = Date.now();
    const timestamp = Date.parse((await deliveredOne()).timestamp);
    expect(timestamp).toBeGreaterThanOrEqual(before);
    expect(timestamp).toBeLessThanOrEqual(after);
  });

  it.each([
    ['/v1/batch', { batch: [{ ...TRACK, timestamp: LONG_AGO }] }],
    ['/v1/batch', { batch: [{ ...TRACK, timestamp: LONG_AGO }], sentAt: new Date().toISOString() }],
    ['/v1/import', { batch: [{ ...TRACK, timestamp: LONG_AGO }], sentAt: '2020-01-01T00:00:00.000Z' }],
    ['/v1/track', { ...TRACK, timestamp: LONG_AGO }],
    ['/v1/track', { ...TRACK, originalTimestamp: LONG_AGO }],
  ])('keeps a time long past that arrives at %s', async (path, body) => {
    await server.post(path, body, HEADERS);
    expect((await deliveredOne()).timestamp).toBe(LONG_AGO);
  });

  it('corrects the time of a client whose clock is wrong by more than a minute', async () => {
    const hour = 3_600_000;
    const now = Date.now();
    const wrong = (milliseconds: number): string => new Date(now - hour + milliseconds).toISOString();
    const batch = [{ ...TRACK, timestamp: wrong(-10_000) }];
    await server.post('/v1/batch', { batch, sentAt: wrong(0) }, HEADERS);
    const timestamp = Date.parse((await deliveredOne()).timestamp);
    expect(timestamp).toBeGreaterThanOrEqual(now - 10_000);
    expect(timestamp).toBeLessThan(Date.now());
  });

  it('takes the address of the sender from the trusted proxy if the client has given none', async () => {
    const batch = [
      { ...TRACK, messageId: 'without' },
      { ...TRACK, messageId: 'with', context: { ip: '8.8.8.8' } },
    ];
    await server.post('/v1/batch', { batch }, { ...HEADERS, 'x-forwarded-for': '203.0.113.9' });
    const messages = await delivered(2);
    const ips = Object.fromEntries(messages.map(({ messageId, context }) => [messageId, context.ip]));
    expect(ips).toEqual({ without: '203.0.113.9', with: '8.8.8.8' });
  });

  it.each([
    ['an address with a zone', `fe80::1%${'x'.repeat(1_000)}`],
    ['a long text', 'x'.repeat(1_000)],
  ])('takes no address if a proxy forwards %s', async (_case, forwarded) => {
    await server.post('/v1/track', TRACK, { ...HEADERS, 'x-forwarded-for': forwarded });
    expect((await deliveredOne()).context).not.toHaveProperty('ip');
  });

  it('leaves every other request to the host', async () => {
    const statuses = await Promise.all([
      server.send('/v1/batch', { method: 'GET' }),
      server.send('/v1/batch', { method: 'PUT', body: '{}' }),
      server.post('/v1/batches', {}, HEADERS),
      server.post('/v1/delete', { userId: 'u1' }, HEADERS),
      server.post('/v1/constructor', {}, HEADERS),
      server.post('/api/v1/batch', {}, HEADERS),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404]);
  });
});
