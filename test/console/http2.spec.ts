import { once } from 'node:events';
import type { Server } from 'node:http';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type Http2ServerRequest,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AnalyticsModule, AnalyticsService } from '../../src/index.js';
import { authorize } from '../destinations-api/api-server.js';
import { moduleOptions } from '../support/analytics-app.js';
import { type Deferred, deferred } from '../support/deferred.js';
import { LogLines } from '../support/log-lines.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { consoleOptions } from './console-app.js';

const PATH = '/analytics/destinations';

@Module({})
class HostModule {}

describe('the console of an application that speaks HTTP/2', () => {
  const stage = new Stage();
  const newConnection = quickConnections();
  let log: LogLines;
  /** Holds requests up until it is resolved. */
  let held: Deferred | undefined;
  let app: INestApplication<Server>;
  let session: ClientHttp2Session;
  let host: string;

  beforeEach(async () => {
    log = new LogLines();
    held = undefined;
    const analytics = consoleOptions({
      connection: await newConnection(),
      console: {
        authorize: async (request) => {
          await held?.promise;
          return authorize(request);
        },
      },
    });
    const module = { module: HostModule, imports: [AnalyticsModule.forRoot(moduleOptions(analytics))] };
    app = await NestFactory.create(module, new FastifyAdapter({ http2: true }), { logger: log });
    await app.listen(0, '127.0.0.1');
    host = `127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    session = connect(`http://${host}`);
  });
  afterEach(async () => {
    session.destroy();
    await app.close();
  });

  function send(headers: OutgoingHttpHeaders, body: unknown = {}): ClientHttp2Stream {
    const page = { cookie: 'user=acme', 'x-analytics-console': '1', 'content-type': 'application/json' };
    const request = session.request({ ':method': 'POST', ...page, ...headers }, { endStream: false });
    return request.end(headers[':method'] === 'GET' ? '' : JSON.stringify(body));
  }

  async function statusOf(request: ClientHttp2Stream): Promise<unknown> {
    const [answer] = (await once(request, 'response')) as [Record<string, unknown>];
    return answer[':status'];
  }

  async function ask(headers: OutgoingHttpHeaders, body?: unknown): Promise<[status: unknown, text: string]> {
    const request = send(headers, body);
    return [await statusOf(request), await text(request)];
  }

  /** Sends a request that is held up, and hangs up. Resolves when the server has noticed. */
  async function hangUp(headers: OutgoingHttpHeaders, body?: unknown): Promise<void> {
    const request = send(headers, body);
    const [raw] = (await once(app.getHttpServer(), 'request')) as [Http2ServerRequest];
    const ended = [once(raw, 'end'), once(raw, 'close')];
    request.close(constants.NGHTTP2_CANCEL);
    await Promise.all(ended);
  }

  it('accepts changes from its own page only', async () => {
    const body = { urls: ['https://acme.example'] };
    const change = { ':path': PATH };
    expect(await ask({ ...change, origin: 'http://evil.example' }, body)).toEqual([
      403,
      expect.stringContaining('CROSS_ORIGIN'),
    ]);
    expect(await ask({ ...change, origin: `http://${host}` }, body)).toEqual([
      201,
      expect.stringContaining('"urls":["https://acme.example"]'),
    ]);
  });

  it.each(['with', 'without'])(
    'replays nothing for a page that leaves before its request is read, %s the length of its body',
    async (announced) => {
      let isDown = true;
      const receiver = await stage.receiver({ answer: () => (isDown ? 400 : 200) });
      const [, created] = await ask({ ':path': PATH }, { urls: [receiver.url()] });
      const path = `${PATH}/${(JSON.parse(created) as { id: string }).id}`;
      const analytics = app.get(AnalyticsService).tenant('acme');
      const [first] = ['A', 'B', 'C'].map((event) => analytics.track({ userId: 'u1', event }));
      const countFailed = async (): Promise<unknown> =>
        JSON.parse((await ask({ ':method': 'GET', ':path': `${path}/count-failed` }))[1]);
      await until(async () => ((await countFailed()) as { count: number }).count === 3 || undefined);
      isDown = false;
      const selected = { messageIds: [first] };
      const length = announced === 'with' && { 'content-length': JSON.stringify(selected).length };

      held = deferred();
      await hangUp({ ':path': `${path}/replay`, ...length }, selected);
      held.resolve();
      expect(await ask({ ':path': `${path}/replay` }, selected)).toEqual([200, '{"replayed":1}']);
      expect(await countFailed()).toEqual({ count: 2 });
      expect(await receiver.received(4)).toHaveLength(4);
      expect(log.errors).toEqual([]);
    },
  );

  it('gives back the places of streams whose pages leave before they are answered', async () => {
    const stream = { ':method': 'GET', ':path': '/analytics/live' };
    held = deferred();
    for (let page = 0; page < 10; page++) await hangUp(stream);
    held.resolve();
    // Each stream still takes a place, until the queue has answered. A reader that only reads nothing has 30 seconds.
    const next = await until(async () => {
      const request = send(stream);
      const [answer] = (await once(request, 'response')) as [Record<string, unknown>];
      if (answer[':status'] !== 429) return answer;
      request.close();
      return undefined;
    }, 100);
    expect(next).toMatchObject({
      ':status': 200,
      'content-type': expect.stringContaining('text/event-stream'),
    });
  }, 20_000);
});
