import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { AnalyticsClient } from '../../../src/client/analytics-client.js';
import { messageIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { shareServer } from './shared-server.js';
import { basic, PLATFORMS, type TrackingServer } from './tracking-server.js';

const KEY = 'wk_web';
const HEADERS = basic(KEY);
const TRACK = { type: 'track', userId: 'u1', event: 'Opened' };
const MEGABYTE = 1024 * 1024;

describe.each(PLATFORMS)('the tracking API on %s, given bad input', (platform) => {
  let receiver: Receiver;
  let server: TrackingServer;

  shareServer(
    {
      platform,
      analytics: {
        writeKey: KEY,
      },
    },
    (shared) => ({ server, receiver } = shared),
  );
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Posts a batch with this value between two good messages, which must arrive whatever the value is. */
  async function postBetween(value: unknown): Promise<unknown> {
    const first = { ...TRACK, messageId: 'first' };
    const last = { ...TRACK, messageId: 'last' };
    const answer = await server.post('/v1/batch', { batch: [first, value, last] }, HEADERS);
    const requests = await receiver.received(2);
    expect(requests.map((request) => messageIn(request).messageId).sort()).toEqual(['first', 'last']);
    expect(answer.status).toBe(200);
    return answer.body;
  }

  it.each([
    ['nothing', '', 'The body is empty'],
    ['broken JSON', '{"batch":[', 'not valid JSON'],
    ['a form', 'event=Opened&userId=u1', 'not valid JSON'],
    ['JSON that is no object', '[1]', 'Expected a JSON object, got an array'],
    ['null', 'null', 'Expected a JSON object, got null'],
    ['no batch', '{}', 'Expected `batch` to be an array of messages, got undefined'],
    [
      'a batch that is no array',
      '{"batch":{}}',
      'Expected `batch` to be an array of messages, got an object',
    ],
    ['a context that is no object', '{"batch":[],"context":[]}', 'Expected `context` to be an object'],
    [
      'integrations that are no object',
      '{"batch":[],"integrations":7}',
      'Expected `integrations` to be an object',
    ],
    ['bytes that are not UTF-8', Buffer.from('{"batch":["\xff"]}', 'latin1'), 'not valid UTF-8'],
    ['a gzip that breaks off', gzipSync('{"batch":[]}').subarray(0, 20), 'cannot be decompressed'],
  ])('answers 400 to %s, and says what is wrong', async (_case, body, message) => {
    const answer = await server.post('/v1/batch', body, HEADERS);
    expect(answer).toMatchObject({ status: 400, body: { success: false, code: 'INVALID_BODY' } });
    expect(answer.body).toHaveProperty('message', expect.stringContaining(message));
  });

  it('takes an empty batch', async () => {
    expect(await server.post('/v1/batch', { batch: [] }, HEADERS)).toMatchObject({ status: 200 });
  });

  it.each([
    ['null', null, '`message`'],
    ['a number', 7, '`message`'],
    ['an array', [TRACK], '`message`'],
    ['no type', { userId: 'u1', event: 'x' }, '`type`'],
    ['an unknown type', { ...TRACK, type: 'constructor' }, '`type`'],
    ['a type that is no text', { ...TRACK, type: ['track'] }, '`type`'],
    ['a deletion', { type: 'delete', userId: 'u1' }, '`type`'],
    ['no event', { type: 'track', userId: 'u1' }, '`event`'],
    ['an event that is no text', { ...TRACK, event: { name: 'x' } }, '`event`'],
    ['no user', { type: 'track', event: 'x' }, '`userId` or `anonymousId`'],
    ['a user that is no text', { ...TRACK, userId: ['u1'] }, '`userId`'],
    ['properties that are no object', { ...TRACK, properties: 'x' }, '`properties`'],
    ['a context that is no object', { ...TRACK, context: 'x' }, '`context`'],
    ['integrations that are no object', { ...TRACK, integrations: [] }, '`integrations`'],
    ['integrations of no flags', { ...TRACK, integrations: { Webhooks: 'yes' } }, '`integrations`'],
    ['a time that is none', { ...TRACK, timestamp: 'yesterday' }, '`timestamp`'],
    ['a time that is a number', { ...TRACK, timestamp: 1_700_000_000 }, '`timestamp`'],
    ['a messageId over 100 characters', { ...TRACK, messageId: 'x'.repeat(101) }, '`messageId`'],
    ['a messageId that is no header', { ...TRACK, messageId: 'a\r\nb' }, '`messageId`'],
    ['a messageId that is an object', { ...TRACK, messageId: {} }, '`messageId`'],
    ['a group without an id', { type: 'group', userId: 'u1' }, '`groupId`'],
    ['an alias without the old id', { type: 'alias', userId: 'u1' }, '`previousId`'],
  ])('refuses a message of %s by its index, and takes the others', async (_case, value, field) => {
    expect(await postBetween(value)).toEqual({
      success: true,
      refused: [{ index: 1, code: 'INVALID_MESSAGE', message: expect.stringContaining(field) }],
    });
  });

  it('refuses a message over 32 KB by its index, and takes the others', async () => {
    const body = await postBetween({ ...TRACK, properties: { text: 'x'.repeat(33_000) } });
    expect(body).toMatchObject({ refused: [{ index: 1, code: 'MESSAGE_TOO_LARGE' }] });
  });

  it('answers 400 to a single call that is invalid or too large', async () => {
    const wrong = await server.post('/v1/track', { userId: 'u1' }, HEADERS);
    expect(wrong).toMatchObject({ status: 400, body: { success: false, code: 'INVALID_MESSAGE' } });
    const large = await server.post(
      '/v1/track',
      { ...TRACK, properties: { x: 'x'.repeat(33_000) } },
      HEADERS,
    );
    expect(large).toMatchObject({ status: 400, body: { success: false, code: 'MESSAGE_TOO_LARGE' } });
  });

  it('never repeats in an answer what was sent', async () => {
    const secret = 'hunter2';
    const answers = await Promise.all([
      server.post('/v1/track', { ...TRACK, timestamp: secret }, HEADERS),
      server.post('/v1/track', `{"password":"${secret}"`, HEADERS),
      server.post('/v1/track', TRACK, basic(secret)),
      server.post('/v1/batch', { batch: secret }, HEADERS),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 401, 400]);
    expect(JSON.stringify(answers.map(({ body }) => body))).not.toContain(secret);
  });

  it('takes 2,500 messages, and answers 413 to more', async () => {
    const batchOf = (count: number): object => ({ batch: Array.from({ length: count }, () => TRACK) });
    const many = await server.post('/v1/batch', gzipSync(JSON.stringify(batchOf(2_501))), HEADERS);
    expect(many).toMatchObject({ status: 413, body: { code: 'TOO_MANY_MESSAGES' } });
    const more = await server.post('/v1/batch', batchOf(10_000), HEADERS);
    expect(more).toMatchObject({ status: 413, body: { code: 'TOO_MANY_MESSAGES' } });
    const just = await server.post('/v1/batch', batchOf(2_500), HEADERS);
    expect(just).toMatchObject({ status: 200, body: { success: true } });
    await receiver.received(2_500);
  });

  it('takes a body of 512,000 bytes, and answers 413 to one byte more', async () => {
    const empty = JSON.stringify({ batch: [], filler: '' }).length;
    const bodyOf = (bytes: number): string =>
      JSON.stringify({ batch: [], filler: 'x'.repeat(bytes - empty) });
    expect(await server.post('/v1/batch', bodyOf(512_000), HEADERS)).toMatchObject({ status: 200 });
    expect(await server.post('/v1/batch', bodyOf(512_001), HEADERS)).toMatchObject({ status: 413 });
  });

  it('inflates a gzip bomb up to the limit and no further', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MEGABYTE, ' '));
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers)), 1);
    const answer = await server.post('/v1/batch', bomb, HEADERS);
    clearInterval(watch);
    expect(answer).toMatchObject({ status: 413, body: { code: 'BODY_TOO_LARGE' } });
    expect(most - before).toBeLessThan(16 * MEGABYTE);
  });

  it('refuses a message that is nested too deeply to be sent, and takes the others', async () => {
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const item = `{"type":"track","userId":"u1","event":"x","properties":{"deep":${nested(200_000)}}}`;
    const answer = await server.post('/v1/batch', `{"batch":[${JSON.stringify(TRACK)},${item}]}`, HEADERS);
    expect(answer).toMatchObject({ status: 200, body: { refused: [{ index: 1 }] } });
    await receiver.received(1);
  });

  it('refuses a message that causes an internal error, logs the error in one line, and takes the others', async () => {
    const { received } = server.app.get(AnalyticsClient);
    const take = received.take.bind(received);
    jest.spyOn(received, 'take').mockImplementation((request, message) => {
      if (message.fields.event === 'Failing') throw new TypeError('no secret');
      return take(request, message);
    });
    for (let sent = 0; sent < 2; sent++) {
      receiver.requests.length = 0;
      expect(await postBetween({ ...TRACK, event: 'Failing' })).toEqual({
        success: true,
        refused: [{ index: 1, code: 'INTERNAL_ERROR', message: expect.not.stringContaining('secret') }],
      });
    }
    expect(server.log.errors).toEqual([expect.stringMatching(/failed to take 1 message, .* TypeError at /)]);
    server.log.all.length = 0;

    const alone = await server.post('/v1/track', { ...TRACK, event: 'Failing' }, HEADERS);
    expect(alone).toMatchObject({ status: 500, body: { code: 'INTERNAL_ERROR' } });
    expect(server.log.errors).toEqual([
      expect.stringMatching(/A request to the tracking API failed: TypeError at /),
    ]);
    server.log.all.length = 0;
  });

  it('logs internal errors of single messages in few lines, however many are sent', async () => {
    jest.spyOn(server.app.get(AnalyticsClient).received, 'take').mockImplementation(() => {
      throw new TypeError('no secret');
    });
    server.log.all.length = 0;
    for (let sent = 0; sent < 10; sent++) {
      expect(await server.post('/v1/track', TRACK, HEADERS)).toMatchObject({ status: 500 });
    }
    // An error of the previous test may add a line.
    expect(server.log.errors.length).toBeLessThanOrEqual(5);
    expect(server.log.errors).toContainEqual(
      expect.stringMatching(/A request to the tracking API failed: TypeError at /),
    );
    server.log.all.length = 0;
  });

  it('logs a few unknown keys of `integrations`, and still logs those of the application itself', async () => {
    const keys = Array.from({ length: 60 }, (_, n) => [`Unknown ${n}`, true]);
    const integrations = Object.fromEntries(keys) as Record<string, boolean>;
    expect(await server.post('/v1/track', { ...TRACK, integrations }, HEADERS)).toMatchObject({
      status: 200,
    });
    server.analytics.track({ userId: 'u1', event: 'Opened', integrations: { webhooks: false } });
    await receiver.received(2);
    const lines = server.log.analytics.filter((line) => line.includes('`integrations` has no effect'));
    expect(lines).toHaveLength(6);
    expect(lines.at(-1)).toContain('The key "webhooks" in');
  });

  it('takes `__proto__` and the like as ordinary keys', async () => {
    const body =
      '{"batch":[{"type":"track","userId":"u1","event":"x","__proto__":{"anonymousId":"a1"},' +
      '"properties":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}],' +
      '"context":{"__proto__":{"polluted":true}},"__proto__":{"polluted":true}}';
    expect(await server.post('/v1/batch', body, HEADERS)).toMatchObject({ body: { success: true } });
    const [request] = await receiver.received(1);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    const text = String(request?.body);
    expect(text).toContain('"properties":{"__proto__":{"polluted":true},"constructor"');
    expect(text).not.toContain('anonymousId');
  });

  it('answers what it can if the Content-Length is wrong, and goes on serving', async () => {
    const { port } = new URL(server.url);
    const body = JSON.stringify({ batch: [TRACK] });
    const sendRaw = async (length: number, halfClose: boolean): Promise<string> => {
      const socket = connect(Number(port), '127.0.0.1');
      const { authorization } = HEADERS;
      const head = `POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Length: ${length}`;
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.write(`${head}\r\n\r\n${body}`);
      if (halfClose) socket.end();
      await once(socket, 'close');
      return text;
    };
    // The server reads the rest as the next request, which is invalid.
    expect(await sendRaw(body.length - 5, false)).toMatch(/^HTTP\/1.1 400 /);
    // The sender hangs up before it has sent as many bytes as it has announced.
    expect(await sendRaw(body.length + 5, true)).toMatch(/^(HTTP\/1.1 400 |$)/);
    expect(await sendRaw(10 ** 12, true)).toMatch(/^HTTP\/1.1 413 /);

    expect(await server.post('/v1/batch', { batch: [TRACK] }, HEADERS)).toMatchObject({ status: 200 });
    await receiver.received(1);
    expect(server.log.errors).toEqual([]);
  });
});
