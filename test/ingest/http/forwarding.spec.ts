import { beforeEach, describe, expect, it } from '@jest/globals';
import { refusalsIn } from '../../../src/forwarding/endpoint-destination.js';
import { acceptedAnswer } from '../../../src/ingest/http/tracking-answer.js';
import { DeliveriesService } from '../../../src/index.js';
import type { AppOptions } from '../../support/analytics-app.js';
import { GuardedChild } from '../../support/child-process.js';
import type { TestConnection } from '../../support/describe-backend.js';
import { quickConnections } from '../../support/quick-connections.js';
import { freePort } from '../../support/free-port.js';
import { queuedMessages } from '../../support/queued-messages.js';
import { messageIn } from '../../support/received-message.js';
import type { Answer, ReceivedRequest, Receiver } from '../../support/receiver.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { basic } from './tracking-server.js';

const API = new URL('./children/tracking-api.ts', import.meta.url);
const TIMEOUT = 90_000;
const LONG_AGO = '2012-12-02T00:30:08.276Z';
const MAX_BATCH_BYTES = 512_000;

const newConnection = quickConnections();
const stage = new Stage();
let connection: TestConnection;

beforeEach(async () => {
  connection = await newConnection();
});

function appOf(endpoint: string, options: AppOptions = {}): ReturnType<Stage['app']> {
  return stage.app({ connection, endpoint, ...options });
}

/** Returns the messages of a request. */
function batchOf({ body }: ReceivedRequest): unknown[] {
  const parsed: unknown = JSON.parse(body.toString());
  if (typeof parsed !== 'object' || parsed === null || !('batch' in parsed) || !Array.isArray(parsed.batch)) {
    throw new Error('This is no batch');
  }
  expect(Object.keys(parsed)).toEqual(['batch']);
  return parsed.batch;
}

describe('forwarding to an `endpoint`', () => {
  it('posts a batch as its messages were taken, including `integrations`, with the write key of its source', async () => {
    const remote = await stage.receiver();
    const app = await appOf(remote.url('/base/'), {
      writeKey: undefined,
      sources: [
        { name: 'web', writeKey: 'wk_web', schema: { Blocked: false, Partly: { Webhooks: false } } },
        { name: 'mobile', writeKey: 'wk_mobile' },
      ],
    });
    const integrations = { All: false, Mixpanel: true };
    app.analytics.track({
      userId: 'u1',
      event: 'Opened',
      timestamp: LONG_AGO,
      integrations,
      messageId: 'm1',
    });
    app.analytics.track({ userId: 'u1', event: 'Blocked' });
    app.analytics.track({ userId: 'u1', event: 'Partly', integrations: { Other: true } });
    app.analytics.page({ anonymousId: 'a1', name: 'Home', properties: { path: '/' } });
    await app.analytics.flush();
    const [request] = await remote.received(1);
    if (request === undefined) throw new Error('Nothing was forwarded');

    expect(request).toMatchObject({ method: 'POST', url: '/base/v1/batch' });
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'NestAnalytics/1.0',
      ...basic('wk_web'),
    });
    const [opened, partly, page, ...rest] = batchOf(request);
    expect(opened).toEqual({
      type: 'track',
      messageId: 'm1',
      timestamp: LONG_AGO,
      userId: 'u1',
      event: 'Opened',
      properties: {},
      context: { library: expect.objectContaining({ name: 'nestjs-analytics' }) },
      integrations,
    });
    expect(partly).toMatchObject({ event: 'Partly', integrations: { Other: true, Webhooks: false } });
    expect(page).toMatchObject({ type: 'page', anonymousId: 'a1', properties: { path: '/' } });
    expect(rest).toEqual([]);
    expect(app.analytics.usage()).toEqual({ received: 4, filtered: 1 });

    app.analytics.source('mobile').track({ userId: 'u1', event: 'Opened' });
    await app.analytics.flush();
    const [, second] = await remote.received(2);
    expect(second?.headers).toMatchObject(basic('wk_mobile'));
  });

  it('sends no more than 500 KB at once', async () => {
    const remote = await stage.receiver();
    const app = await appOf(remote.url());
    const properties = { filler: 'x'.repeat(30_000) };
    for (let n = 0; n < 40; n++) app.analytics.track({ userId: 'u1', event: 'Large', properties });
    await app.analytics.flush();
    await app.settled();
    expect(remote.requests.flatMap(batchOf)).toHaveLength(40);
    const largest = Math.max(...remote.requests.map(({ body }) => body.length));
    expect(largest).toBeLessThanOrEqual(MAX_BATCH_BYTES);
    expect(largest).toBeGreaterThan(300_000);
  });

  it(
    'sends the same batch again if the answer was 503',
    async () => {
      const remote = await stage.receiver({ answer: [503, 200] });
      const app = await appOf(remote.url());
      app.analytics.track({ userId: 'u1', event: 'Opened' });
      app.analytics.track({ userId: 'u1', event: 'Closed' });
      await app.analytics.flush();
      const [first, second] = await remote.received(2);
      await app.settled();
      expect(second?.body).toEqual(first?.body);
      expect(remote.requests).toHaveLength(2);
    },
    TIMEOUT,
  );

  it(
    'sends again only the messages of a batch for which the API has no room now',
    async () => {
      const full = { success: true, refused: [{ index: 1, code: 'MESSAGE_REFUSED', message: 'It is full' }] };
      const remote = await stage.receiver({ answer: [{ status: 200, body: JSON.stringify(full) }, 200] });
      const app = await appOf(remote.url());
      for (const messageId of ['m0', 'm1', 'm2'])
        app.analytics.track({ userId: 'u1', event: 'x', messageId });
      await app.analytics.flush();
      const [, second] = await remote.received(2);
      await app.settled();
      expect(second && batchOf(second)).toMatchObject([{ messageId: 'm1' }]);
      expect(await app.context.get(DeliveriesService).failed()).toEqual([]);
    },
    TIMEOUT,
  );

  it(
    'sends a whole batch again for which the API has no room, even if the answer cannot list all messages',
    async () => {
      const ids = Array.from({ length: 40 }, (_, n) => `m${n}`);
      const message = 'The message was refused: a destination takes no more messages: too many wait for it.';
      const { status, body } = acceptedAnswer(
        ids.map((_, index) => ({ index, code: 'MESSAGE_REFUSED', message })),
      );
      const remote = await stage.receiver({ answer: [{ status, body }, 200] });
      const app = await appOf(remote.url(), { flushAt: ids.length });
      for (const messageId of ids) app.analytics.track({ userId: 'u1', event: 'x', messageId });
      const [, second] = await remote.received(2);
      await app.settled();
      expect(second && batchOf(second)).toMatchObject(ids.map((messageId) => ({ messageId })));
      expect(await app.context.get(DeliveriesService).failed()).toEqual([]);
    },
    TIMEOUT,
  );

  it('keeps as failed what was refused for good: a batch, or single messages of a batch', async () => {
    const list = { success: true, refused: [{ index: 1, code: 'INVALID_MESSAGE', message: 'Expected …' }] };
    const answers: Answer[] = [{ status: 200, body: JSON.stringify(list) }, 401];
    const remote = await stage.receiver({ answer: answers });
    const app = await appOf(remote.url());
    for (const messageId of ['m0', 'm1', 'm2']) app.analytics.track({ userId: 'u1', event: 'x', messageId });
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    expect(queuedMessages(job)).toMatchObject([
      { id: 'm1', outcomes: [{ class: 'permanent', status: 200, attempt: 1 }] },
    ]);
    // The same line is logged for any receiver that refuses a message.
    expect(await app.log.line(/does not take events: status 200/)).toMatch(
      /^warn: .*Refused messages are not retried, but kept as failed/,
    );

    app.analytics.track({ userId: 'u1', event: 'x', messageId: 'm3' });
    await app.analytics.flush();
    const jobs = await until(async () => {
      const failed = await app.failedJobs();
      return failed.length === 2 ? failed : undefined;
    });
    const ids = queuedMessages(...jobs).map(({ id }) => id);
    expect(ids.sort()).toEqual(['m1', 'm3']);
  });

  it('waits for the list of refused messages if it comes after the status', async () => {
    const list = { success: true, refused: [{ index: 1, code: 'INVALID_MESSAGE', message: 'Expected …' }] };
    const body = JSON.stringify(list);
    const remote = await stage.receiver({
      answer: () => (response) => {
        response.writeHead(200, { 'content-length': Buffer.byteLength(body) }).flushHeaders();
        setTimeout(() => response.end(body), 400);
      },
    });
    const app = await appOf(remote.url());
    for (const messageId of ['m0', 'm1', 'm2']) app.analytics.track({ userId: 'u1', event: 'x', messageId });
    await app.analytics.flush();
    await app.settled();
    expect(await app.context.get(DeliveriesService).failed()).toMatchObject([{ messageId: 'm1' }]);
    expect(remote.requests).toHaveLength(1);
  });

  it(
    'sends a batch again if the answer breaks off before it says whether messages are refused',
    async () => {
      const remote = await stage.receiver({
        answer: [
          (response, socket) => {
            response.writeHead(200, { 'content-length': 100 }).write('{"success":tr', () => socket.end());
          },
          { status: 200, body: '{"success":true}' },
        ],
      });
      const app = await appOf(remote.url());
      app.analytics.track({ userId: 'u1', event: 'x', messageId: 'm0' });
      await app.analytics.flush();
      const [first, second] = await remote.received(2);
      await app.settled();
      expect(second?.body).toEqual(first?.body);
      expect(remote.requests).toHaveLength(2);
      expect(await app.context.get(DeliveriesService).failed()).toEqual([]);
    },
    TIMEOUT,
  );

  it('counts answers of other services as deliveries, even if they have no body or break off', async () => {
    const remote = await stage.receiver({
      answer: [
        204,
        { status: 200, body: 'OK' },
        (response, socket) => {
          response.writeHead(200, { 'content-length': 100 }).write('OK', () => socket.end());
        },
      ],
    });
    const app = await appOf(remote.url(), { flushAt: 1 });
    for (const messageId of ['m0', 'm1', 'm2']) {
      app.analytics.track({ userId: 'u1', event: 'x', messageId });
      await app.analytics.flush();
      await app.settled();
    }
    expect(remote.requests.flatMap(batchOf)).toMatchObject(
      ['m0', 'm1', 'm2'].map((messageId) => ({ messageId })),
    );
    expect(await app.context.get(DeliveriesService).failed()).toEqual([]);
  });

  it('holds back all batches for as long as the API asks, even if it refused only one of them', async () => {
    const times: number[] = [];
    const remote = await stage.receiver({
      answer: (_request, index) => {
        times.push(performance.now());
        return index === 0 ? { status: 429, headers: { 'retry-after': '2' } } : 200;
      },
    });
    const app = await appOf(remote.url());
    const answered = new Promise((resolve) => {
      app.context.get(DeliveriesService).outcomes$.subscribe(resolve);
    });
    app.analytics.track({ userId: 'u1', event: 'Refused', messageId: 'm0' });
    await app.analytics.flush();
    expect(await answered).toMatchObject({ class: 'retry', messageId: 'm0' });
    for (const messageId of ['m1', 'm2']) {
      app.analytics.track({ userId: 'u1', event: 'Held back', messageId });
      await app.analytics.flush();
    }
    const all = await until(() => {
      const messages = remote.requests.slice(1).flatMap(batchOf);
      return messages.length === 3 ? messages : undefined;
    });
    expect(all).toContainEqual(expect.objectContaining({ messageId: 'm0' }));
    const [refused = 0, next = 0] = times;
    expect(next - refused).toBeGreaterThanOrEqual(1_990);
  });

  it('refuses a deletion, and logs where it belongs', async () => {
    const remote = await stage.receiver();
    const app = await appOf(remote.url());
    app.analytics.delete({ userId: 'u1' });
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 1, pending: 0 });
    expect(await app.log.line(/refused: a deletion cannot be forwarded/)).toContain('behind `endpoint`');
  });

  it(
    'delivers each message from application to application to receiver, even if the API is killed meanwhile',
    async () => {
      const receiver = await stage.receiver();
      const port = await freePort();
      const args = [String(port), JSON.stringify(await newConnection()), 'wk_test', receiver.url()];
      const startApi = async (): Promise<GuardedChild> => {
        const child = await GuardedChild.startScript(API, args);
        await child.waitFor(/open/);
        child.drain();
        return child;
      };
      const killed = await startApi();
      const app = await appOf(`http://127.0.0.1:${port}`);
      const ids: string[] = [];
      const send = (count: number): void => {
        for (let n = 0; n < count; n++) {
          ids.push(app.analytics.track({ userId: 'u1', event: `Event ${ids.length}`, timestamp: LONG_AGO }));
        }
      };
      send(200);
      await app.analytics.flush();
      await receiver.received(20);
      send(100);
      await killed.stop('SIGKILL');
      send(100);
      await app.analytics.flush();

      const restarted = await startApi();
      const messages = await all(receiver, ids);
      expect(messages.every(({ timestamp }) => timestamp === LONG_AGO)).toBe(true);
      await app.settled();
      expect(await app.queue.getFailedCount()).toBe(0);
      await restarted.stop('SIGKILL');
    },
    TIMEOUT,
  );

  /** Resolves once each of these messages was delivered at least once. */
  function all(receiver: Receiver, ids: string[]): Promise<ReturnType<typeof messageIn>[]> {
    return until(() => {
      const messages = receiver.requests.map(messageIn);
      const received = new Set(messages.map(({ messageId }) => messageId));
      return ids.every((id) => received.has(id)) ? messages : undefined;
    });
  }
});

describe('the messages that an answer lists as refused', () => {
  const entry = (index: number): string => `{"index":${index},"code":"X","message":"Expected …"}`;
  const list = (indexes: number[]): string => `{"success":true,"refused":[${indexes.map(entry).join(',')}]}`;

  it.each([
    ['none, in an answer without a list', '{"success":true}', []],
    ['none, in the answer of another service', 'OK', []],
    ['none, without an answer', undefined, []],
    ['those listed', list([0, 3]), [0, 3]],
    [
      'all from the last that can be read, where the list is cut off',
      list([1, 3]).slice(0, -10),
      [1, 3, 4, 5],
    ],
    ['the same, where it is cut off in its code', list([1, 3]).slice(0, -30), [1, 3, 4, 5]],
  ])('are %s', (_case, excerpt, refused) => {
    const isRefused = refusalsIn(excerpt, true);
    expect([0, 1, 2, 3, 4, 5].filter((index) => isRefused(index) === 'permanent')).toEqual(refused);
  });

  it.each([
    ['all, to be sent again, where it broke off before its body', undefined, 'retry'],
    ['the same, where it broke off before the list', '{"success":tr', 'retry'],
    ['the same, where it broke off before the first entry', '{"success":true,"refused":[', 'retry'],
    ['none, where the answer of another service broke off', 'OK', undefined],
  ])('are %s', (_case, excerpt, refusal) => {
    expect(refusalsIn(excerpt, false)(0)).toBe(refusal);
  });
});
