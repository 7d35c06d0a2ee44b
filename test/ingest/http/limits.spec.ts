import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { heldBytes } from '../../support/heap.js';
import { messageIn, type ReceivedMessage } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { until } from '../../support/until.js';
import { shareServer } from './shared-server.js';
import { basic, PLATFORMS, type TrackingServer } from './tracking-server.js';

const KEY = 'wk_web';
const HEADERS = basic(KEY);
const TRACK = { type: 'track', userId: 'u1', event: 'Opened' };
const KILOBYTE = 1_024;
const TIMERS_OF_OTHERS = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
] as const;

describe.each(PLATFORMS)('the limits of the tracking API on %s', (platform) => {
  const sockets: Socket[] = [];
  let receiver: Receiver;
  let server: TrackingServer;

  shareServer(
    {
      platform,
      analytics: {
        writeKey: KEY,
        context: { app: { name: 'Shop' } },
      },
    },
    (shared) => ({ server, receiver } = shared),
  );
  afterEach(() => {
    jest.useRealTimers();
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  interface BegunRequest {
    /** Text of the answer so far. */
    text: string;
    socket: Socket;
  }

  /** Sends the head of a request, and what follows it. */
  async function send(path: string, headers: string, rest: string): Promise<BegunRequest> {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    sockets.push(socket);
    const begun = { text: '', socket };
    socket.on('data', (chunk) => (begun.text += chunk.toString())).on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`);
    socket.write(rest);
    return begun;
  }

  /** Sends a request with the beginning of its body. */
  function begin(path: string, length: number, body: string): Promise<BegunRequest> {
    return send(path, `Authorization: ${HEADERS.authorization}\r\nContent-Length: ${length}`, body);
  }

  /** Sends a request with each byte of its body in a chunk, but not the end. */
  function beginInChunks(path: string, body: string): Promise<BegunRequest> {
    return send(path, 'Transfer-Encoding: chunked', body.replace(/./g, '1\r\n$&\r\n'));
  }

  async function delivered(messageId: string): Promise<ReceivedMessage> {
    return until(() => receiver.requests.map(messageIn).find((message) => message.messageId === messageId));
  }

  it('answers 413 to a small request that becomes large once its context is merged, and takes nothing of it', async () => {
    const batch = Array.from({ length: 2_500 }, () => TRACK);
    const context = { filler: 'x'.repeat(20 * KILOBYTE) };
    const body = gzipSync(JSON.stringify({ batch, context }));
    expect(body.length).toBeLessThan(2 * KILOBYTE);
    const answer = await server.post('/v1/batch', body, HEADERS);
    expect(answer).toMatchObject({ status: 413, body: { code: 'BODY_TOO_LARGE' } });
    expect(answer.body).toHaveProperty('message', expect.stringContaining('merged into each message'));
    expect(await server.analytics.flush()).toEqual({ queued: 0, refused: 0, pending: 0 });
    const integrations = Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [`Destination number ${n}`, true]),
    );
    expect(await server.post('/v1/batch', { batch, integrations }, HEADERS)).toMatchObject({ status: 413 });
    expect(server.analytics.usage()).toMatchObject({ received: 0 });
  });

  it('takes a batch whose shared context is replaced in each message and so adds nothing', async () => {
    const filler = 'x'.repeat(10 * KILOBYTE);
    const own = (n: number): object => ({ ...TRACK, messageId: `own-${n}`, context: { filler: 'short' } });
    const batch = Array.from({ length: 60 }, (_, n) => own(n));
    expect(await server.post('/v1/batch', { batch, context: { filler } }, HEADERS)).toMatchObject({
      status: 200,
      body: { success: true },
    });
    await delivered('own-59');
  });

  it('lists a sample of the refused messages, and their number', async () => {
    const batch = Array.from({ length: 2_500 }, () => ({ type: 'track', userId: 'u1' }));
    const answer = await server.post('/v1/batch', { batch }, HEADERS);
    expect(answer).toMatchObject({ status: 200, body: { success: true, refusedCount: 2_500 } });
    const refused: unknown[] = Array.from({ length: 20 }, (_, index): unknown =>
      expect.objectContaining({ index, code: 'INVALID_MESSAGE' }),
    );
    expect(answer.body).toMatchObject({ refused });
    expect(JSON.stringify(answer.body).length).toBeLessThan(8 * KILOBYTE);
  });

  it('measures a message without what the server adds to it', async () => {
    const library = { name: 'test', version: '1' };
    const padded = (messageId: string, length: number): object => ({
      ...TRACK,
      messageId,
      timestamp: '2020-05-05T10:00:00.000Z',
      context: { library },
      properties: { text: 'x'.repeat(length) },
    });
    await server.post('/v1/track', padded('message-1', 0), HEADERS);
    const { context } = await delivered('message-1');
    expect(context).toMatchObject({ ip: expect.any(String), app: { name: 'Shop' } });
    const [request] = receiver.requests;
    const added = JSON.stringify({ ip: context.ip }).length + JSON.stringify({ app: context.app }).length - 2;
    const free = 32_768 - (Number(request?.body.length) - added);

    const full = await server.post('/v1/track', padded('message-2', free), HEADERS);
    expect(full).toMatchObject({ status: 200 });
    expect(await delivered('message-2')).toMatchObject({ properties: { text: 'x'.repeat(free) } });
    const over = await server.post('/v1/track', padded('message-3', free + 1), HEADERS);
    expect(over).toMatchObject({ status: 400, body: { code: 'MESSAGE_TOO_LARGE' } });
  });

  it('does not count an address in `context.ip` towards the size of a message, but any other text there', async () => {
    const message = (ip: string, length: number): object => ({
      ...TRACK,
      context: { ip },
      properties: { text: 'x'.repeat(length) },
    });
    const refuse = async (body: object): Promise<boolean> =>
      (await server.post('/v1/track', body, HEADERS)).status === 400;
    let length = 32_500;
    while (!(await refuse(message('::1', length)))) length++;
    expect(await refuse(message('2001:db8:1234:5678:9abc:def0:1234:5678', length - 1))).toBe(false);
    expect(await refuse(message('not an address', length - 1))).toBe(true);
    expect(await refuse(message('fe80::1%eth0', length - 1))).toBe(true);
    expect(await refuse(message(`fe80::1%${'x'.repeat(1_000)}`, length - 1))).toBe(true);
  });

  it('closes the connection after a 413', async () => {
    const declared = await begin('/v1/batch', 10_000_000, '{"batch":[');
    await once(declared.socket, 'close');
    expect(declared.text).toMatch(/^HTTP\/1\.1 413 [^]*connection: close/i);
    const inflated = gzipSync(Buffer.alloc(1_000_000, ' '));
    const answer = await server.post('/v1/batch', inflated, HEADERS);
    expect([answer.status, answer.headers.get('connection')]).toEqual([413, 'close']);
    const good = await server.post('/v1/batch', { batch: [] }, HEADERS);
    expect([good.status, good.headers.get('connection')]).toEqual([200, 'keep-alive']);
  });

  it('lets a client that is still sending read the 413', async () => {
    const sending = request(new URL('/v1/batch', server.url), { method: 'POST', headers: HEADERS });
    const answered = once(sending, 'response');
    for (let n = 0; n < 50; n++) sending.write('x'.repeat(100 * KILOBYTE));
    sending.end();
    expect(await answered).toMatchObject([{ statusCode: 413, headers: { connection: 'close' } }]);
    sending.destroy();
  });

  it('keeps the connection of a request with a wrong key if the body has arrived', async () => {
    const answer = await server.post('/v1/track', TRACK, basic('wk_wrong'));
    expect([answer.status, answer.headers.get('connection')]).toEqual([401, 'keep-alive']);
  });

  it('gives up a body that has not arrived after 30 seconds', async () => {
    jest.useFakeTimers({ doNotFake: [...TIMERS_OF_OTHERS] });
    const arrived = once(server.app.getHttpServer(), 'request');
    const slow = await begin('/v1/track', 100, '{"userId":');
    await arrived;
    await new Promise(setImmediate);
    await jest.advanceTimersByTimeAsync(29_900);
    expect(slow.text).toBe('');
    const closed = once(slow.socket, 'close');
    await jest.advanceTimersByTimeAsync(200);
    await until(() => (slow.text.includes('BODY_TOO_LATE') ? true : undefined));
    await jest.advanceTimersByTimeAsync(2_000);
    await closed;
    expect(slow.text).toMatch(/^HTTP\/1\.1 408 [^]*connection: close/i);
  });

  it('bounds the memory of all bodies that are being read, and takes small bodies again at once', async () => {
    const part = 'x'.repeat(500_000);
    const begun = await Promise.all(Array.from({ length: 75 }, () => begin('/v1/batch', 510_000, part)));
    const refused = await until(() => {
      const answered = begun.filter(({ text }) => text.includes('TOO_MANY_BODIES'));
      return answered.length > 0 ? answered : undefined;
    });
    for (const { text } of refused) expect(text).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: \d+/i);
    expect(refused.length).toBeLessThan(15);
    for (const { socket } of begun) socket.destroy();
    await until(async () => {
      const { status } = await server.post('/v1/track', TRACK, HEADERS);
      return status === 200 ? true : undefined;
    });
  });

  it('takes small requests beside 70 large ones that never end, and closes the connections of large ones it refuses', async () => {
    const part = 'x'.repeat(511_000);
    const head = `Content-Length: ${part.length + 10}`;
    const stalled = await Promise.all(Array.from({ length: 70 }, () => send('/v1/batch', head, part)));
    // They take nearly all of the memory that the large ones have left.
    const fillers = await Promise.all(
      Array.from({ length: 70 }, () => send('/v1/batch', head, part.slice(0, 5_000))),
    );
    const small = { ...TRACK, properties: { text: 'x'.repeat(6_000) } };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => server.post('/v1/track', small, HEADERS)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    const refused = stalled.filter(({ text }) => text !== '');
    expect(refused.length).toBeGreaterThan(0);
    await Promise.all(
      refused.map(async ({ socket }) => {
        if (!socket.closed) await once(socket, 'close');
      }),
    );
    for (const { text } of refused) {
      expect(text).toMatch(/^HTTP\/1\.1 503 [^]*connection: close[^]*TOO_MANY_BODIES/i);
    }
    expect(refused.length).toBeLessThan(15);
    expect(fillers.filter(({ text }) => text !== '')).toEqual([]);
  });

  it('holds no more of a body than its bytes, even if each byte comes in a chunk of its own', async () => {
    const arriving: IncomingMessage[] = [];
    const web = server.app.getHttpServer();
    const onRequest = (request: IncomingMessage): unknown => arriving.push(request);
    web.on('request', onRequest);
    const before = await heldBytes();
    const body = ' '.repeat(40_000) + JSON.stringify({ ...TRACK, writeKey: KEY });
    const begun = await Promise.all(Array.from({ length: 4 }, () => beginInChunks('/v1/track', body)));
    await until(() => {
      const complete = arriving.filter(({ socket }) => socket.bytesRead > 6 * body.length);
      return complete.length === begun.length ? true : undefined;
    });
    web.off('request', onRequest);
    expect((await heldBytes()) - before).toBeLessThan(16 * KILOBYTE * KILOBYTE);
    for (const { socket } of begun) socket.write('0\r\n\r\n');
    await until(
      () => begun.every(({ text }) => /^HTTP\/1\.1 200 [^]*"success":true/.test(text)) || undefined,
    );
  });

  it('keeps the digits of numeric ids that have more digits than JavaScript keeps', async () => {
    const ids = [
      '9007199254740993',
      '9007199254740992',
      '-12345678901234567890',
      '1.0000000000000001',
      '0.1234567890123456789',
    ];
    const batch = ids.map(
      (id, n) =>
        `{"type":"group","userId":${id},"anonymousId" : ${id}\n,"groupId":${id},"messageId":"id-${n}",` +
        `"traits":{"userId":"\\"userId\\":1234567890123456789,","groupId":123456789012345680000,"a\\"userId":1}}`,
    );
    const answer = await server.post('/v1/batch', `{"batch":[${batch.join(',')}]}`, HEADERS);
    expect(answer.body).toEqual({ success: true });
    for (const [n, id] of ids.entries()) {
      expect(await delivered(`id-${n}`)).toMatchObject({
        userId: id,
        anonymousId: id,
        groupId: id,
        traits: { userId: '"userId":1234567890123456789,', groupId: 123456789012345680000 },
      });
    }
  });

  it('takes no longer for a body of many texts if it has such an id', async () => {
    const bodyOf = (userId: string): Buffer =>
      gzipSync(`{"userId":${userId},"event":"Opened","filler":[${'"",'.repeat(165_000)}""]}`);
    const quickest = async (body: Buffer): Promise<number> => {
      const times: number[] = [];
      for (let sent = 0; sent < 10; sent++) {
        const start = performance.now();
        expect(await server.post('/v1/track', body, HEADERS)).toMatchObject({ status: 200 });
        times.push(performance.now() - start);
      }
      return Math.min(...times);
    };
    const short = await quickest(bodyOf('1'));
    // Examining each text would take forty times as long, and a busy machine may take twice as long.
    expect(await quickest(bodyOf('1234567890123456789'))).toBeLessThan(10 * short);
  });

  it('refuses a numeric id whose digits cannot be kept, and says why', async () => {
    const answer = await server.post('/v1/track', '{"userId":1e21,"event":"Opened"}', HEADERS);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_MESSAGE' } });
    expect(answer.body).toHaveProperty('message', expect.stringContaining('`userId` to be a string'));
  });

  it('logs requests with an unknown key in one line, with the last characters of the key', async () => {
    for (let n = 0; n < 5; n++) await server.post('/v1/track', TRACK, basic('wk_wrong'));
    const lines = server.log.analytics.filter((line) => line.includes('401'));
    expect(lines).toEqual([
      expect.stringMatching(/^warn: The tracking API answered 1 request with 401 .* ends in "rong"/),
    ]);
  });
});

describe.each(PLATFORMS)('the tracking API with a rate limit on %s', (platform) => {
  let server: TrackingServer;

  shareServer(
    {
      platform,
      analytics: {
        sources: ['large', 'unread', 'wrong', 'text', 'zipped', 'bomb', 'chunks', 'clock', 'buffer'].map(
          (name) => ({
            name,
            writeKey: `wk_${name}`,
          }),
        ),
        trackingApi: { rateLimit: 10 },
        maxBufferedBytes: 100 * KILOBYTE,
        flushAt: 10_000,
        flushAfter: 60_000,
      },
    },
    (shared) => ({ server } = shared),
  );
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('limits a sender by bytes as well as by messages', async () => {
    const large = { ...TRACK, properties: { text: 'x'.repeat(20 * KILOBYTE) } };
    expect(await server.post('/v1/track', large, basic('wk_large'))).toMatchObject({ status: 200 });
    const limited = await server.post('/v1/track', TRACK, basic('wk_large'));
    expect(limited).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  });

  it('refuses a request above the limit before its body is read if the key is in the header', async () => {
    const { authorization } = basic('wk_unread');
    const large = { ...TRACK, properties: { text: 'x'.repeat(20 * KILOBYTE) } };
    expect(await server.post('/v1/track', large, { authorization })).toMatchObject({ status: 200 });
    const headers = { authorization, 'content-length': '100' };
    const unfinished = request(new URL('/v1/track', server.url), { method: 'POST', headers });
    unfinished.write('{');
    expect(await once(unfinished, 'response')).toMatchObject([{ statusCode: 429 }]);
    unfinished.destroy();
  });

  it('counts an invalid request like any other', async () => {
    const wrong = { batch: 'x'.repeat(20 * KILOBYTE) };
    expect(await server.post('/v1/batch', wrong, basic('wk_wrong'))).toMatchObject({ status: 400 });
    expect(await server.post('/v1/track', TRACK, basic('wk_wrong'))).toMatchObject({ status: 429 });
    const noJson = 'x'.repeat(20 * KILOBYTE);
    expect(await server.post('/v1/batch', noJson, basic('wk_text'))).toMatchObject({ status: 400 });
    expect(await server.post('/v1/track', TRACK, basic('wk_text'))).toMatchObject({ status: 429 });
  });

  it.each([
    ['is no JSON once it is inflated', 'wk_zipped', 400, gzipSync('x'.repeat(200 * KILOBYTE))],
    ['is too large once it is inflated', 'wk_bomb', 413, gzipSync('x'.repeat(1_000 * KILOBYTE))],
  ])('counts a small request that %s by its inflated size', async (_case, key, status, body) => {
    expect(body.length).toBeLessThan(2 * KILOBYTE);
    expect(await server.post('/v1/batch', body, basic(key))).toMatchObject({ status });
    expect(await server.post('/v1/track', TRACK, basic(key))).toMatchObject({ status: 429 });
    expect(await server.post('/v1/track', TRACK, basic('wk_clock'))).toMatchObject({ status: 200 });
  });

  it('counts the bytes that have arrived of an invalid request that has not announced its length', async () => {
    const wrong = request(new URL('/v1/batch', server.url), { method: 'POST', headers: basic('wk_chunks') });
    const answered = once(wrong, 'response');
    for (let sent = 0; sent < 200; sent++) wrong.write('x'.repeat(KILOBYTE));
    wrong.end();
    const [answer] = (await answered) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(400);
    expect(await server.post('/v1/track', TRACK, basic('wk_chunks'))).toMatchObject({ status: 429 });
  });

  it('does not depend on the wall clock', async () => {
    expect(await server.post('/v1/track', TRACK, basic('wk_clock'))).toMatchObject({ status: 200 });
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
    expect(await server.post('/v1/track', TRACK, basic('wk_clock'))).toMatchObject({ status: 200 });
  });

  it("leaves half of the buffer to the host's own calls", async () => {
    await server.analytics.flush();
    const properties = { text: 'x'.repeat(1_000) };
    const flood = { batch: Array.from({ length: 200 }, () => ({ ...TRACK, properties })) };
    expect(await server.post('/v1/batch', flood, basic('wk_buffer'))).toMatchObject({ status: 503 });
    for (let n = 0; n < 30; n++) server.analytics.track({ ...TRACK, properties });
    expect(await server.analytics.flush()).toMatchObject({ refused: 0 });
  });
});
