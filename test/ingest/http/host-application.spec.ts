import { EventEmitter, once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type RequestListener,
  type RequestOptions,
  type Server,
  type ServerResponse,
} from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Body,
  type CanActivate,
  Controller,
  ForbiddenException,
  Get,
  type INestApplication,
  type PipeTransform,
  Post,
  RequestMethod,
  UnprocessableEntityException,
  UseGuards,
  VersioningType,
} from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ExpressAdapter } from '@nestjs/platform-express';
import { HttpMount } from '../../../src/http/http-mount.js';
import { AnalyticsModule, UnsupportedAdapterError } from '../../../src/index.js';
import { TrackingApiHandler } from '../../../src/ingest/http/tracking-api.handler.js';
import { quickConnections } from '../../support/quick-connections.js';
import { LogLines } from '../../support/log-lines.js';
import { messageIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { headOf, RawConnection } from './raw-connection.js';
import { basic, PLATFORMS, type ServerOptions, TrackingServer } from './tracking-server.js';

const HEADERS = basic('wk_test');
const TRACK = { type: 'track', userId: 'u1', event: 'Opened' };
const BODY = JSON.stringify(TRACK);

@Controller({ path: 'orders', version: '2' })
class OrdersController {
  @Post()
  create(@Body() body: unknown): { got: unknown } {
    return { got: body };
  }

  @Get()
  list(): string[] {
    return [];
  }
}

class NobodyGuard implements CanActivate {
  canActivate(): boolean {
    throw new ForbiddenException();
  }
}

@Controller({ version: '1' })
class GroupsController {
  @Post('group')
  @UseGuards(NobodyGuard)
  group(): string {
    return 'own';
  }

  @Post(':kind')
  any(): string {
    return 'own';
  }

  @Get('group')
  read(): string {
    return 'own';
  }

  @Post('groups')
  groups(): string {
    return 'own';
  }
}

class NothingPipe implements PipeTransform {
  transform(): never {
    throw new UnprocessableEntityException();
  }
}

/** A server that the host creates beside the server of Nest. */
class OwnServer {
  private readonly server: Server;

  constructor(listener: RequestListener) {
    this.server = createServer(listener);
  }

  async post(path: string): Promise<Response> {
    if (!this.server.listening) await once(this.server.listen(0, '127.0.0.1'), 'listening');
    const address = this.server.address();
    if (typeof address !== 'object' || address === null) throw new Error('The server does not listen');
    const url = `http://127.0.0.1:${address.port}${path}`;
    return fetch(url, { method: 'POST', headers: HEADERS, body: JSON.stringify(TRACK) });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await once(this.server.close(), 'close');
  }
}

describe.each(PLATFORMS)('the tracking API in a host application on %s', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  async function start(
    options: Partial<ServerOptions>,
  ): Promise<{ server: TrackingServer; receiver: Receiver }> {
    const receiver = await stage.receiver();
    const server = await stage.add(
      TrackingServer.start({
        platform,
        host: { controllers: [OrdersController] },
        ...options,
        analytics: {
          writeKey: 'wk_test',
          webhooks: webhooksTo(receiver),
          connection: await newConnection(),
          ...options.analytics,
        },
      }),
    );
    return { server, receiver };
  }

  it('keeps its paths whatever prefix, versioning, guards and pipes the host has, and disturbs none of them', async () => {
    const { server, receiver } = await start({
      configure: (app) => {
        app.setGlobalPrefix('api', { exclude: [{ path: 'health', method: RequestMethod.GET }] });
        app.enableVersioning({ type: VersioningType.URI });
        app.useGlobalGuards(new NobodyGuard());
        app.useGlobalPipes(new NothingPipe());
      },
    });
    expect(await server.post('/v1/batch', { batch: [TRACK] }, HEADERS)).toMatchObject({ status: 200 });
    expect((await receiver.received(1)).map((request) => messageIn(request).event)).toEqual(['Opened']);
    expect(await server.post('/api/v2/orders', {})).toMatchObject({ status: 403 });
    expect(await server.post('/api/v1/batch', { batch: [TRACK] }, HEADERS)).toMatchObject({ status: 404 });
  });

  it('leaves the bodies of other routes to the parsers of the host, with its limits', async () => {
    const { server, receiver } = await start({
      configure: (app) => {
        app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' });
      },
    });
    const version = { 'x-version': '2' };
    expect(await server.post('/orders', { id: 1 }, version)).toMatchObject({
      status: 201,
      body: { got: { id: 1 } },
    });
    expect(await server.post('/orders', '{"id":', version)).toMatchObject({ status: 400 });
    // The body limit of the host is below the limit of this API on one platform, and above it on the other.
    const large = { filler: 'x'.repeat(1_500_000) };
    expect(await server.post('/orders', large, version)).toMatchObject({ status: 413 });
    const batch = [{ ...TRACK, properties: { filler: 'x'.repeat(30_000) } }];
    const full = { batch: Array.from({ length: 12 }, () => batch).flat() };
    expect(await server.post('/v1/batch', full, { ...HEADERS, ...version })).toMatchObject({
      status: 200,
      body: { success: true },
    });
    await receiver.received(12);
  });

  it('takes requests from pages of any origin even if the host is strict with its own routes', async () => {
    const { server, receiver } = await start({
      configure: (app) => {
        app.enableCors({ origin: 'https://admin.example', credentials: true });
        app.enableCsrfProtection();
      },
    });
    const fromPage = { origin: 'https://shop.example', 'sec-fetch-site': 'cross-site' };
    const preflight = (path: string) =>
      server.send(path, {
        method: 'OPTIONS',
        headers: { ...fromPage, 'access-control-request-method': 'POST' },
      });
    const allowed = await preflight('/v1/t');
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-origin')).toBe('*');
    expect(allowed.headers.has('access-control-allow-credentials')).toBe(false);

    const taken = await server.post('/v1/t', TRACK, { ...HEADERS, ...fromPage });
    expect(taken.status).toBe(200);
    expect(taken.headers.get('access-control-allow-origin')).toBe('*');
    expect(taken.headers.has('access-control-allow-credentials')).toBe(false);
    await receiver.received(1);

    const host = await preflight('/orders');
    expect(host.headers.get('access-control-allow-origin')).toBe('https://admin.example');
    expect(await server.post('/orders', {}, fromPage)).toMatchObject({ status: 403 });
  });

  it('serves under a path of its own if one is configured', async () => {
    const { server, receiver } = await start({ analytics: { trackingApi: { path: '/events/' } } });
    expect(await server.post('/events/v1/track', TRACK, HEADERS)).toMatchObject({ status: 200 });
    expect(await server.post('/v1/track', TRACK, HEADERS)).toMatchObject({ status: 404 });
    await receiver.received(1);
  });

  it('takes a request that is arriving when the application closes, and ends its connection', async () => {
    const { server } = await start({});
    const body = JSON.stringify(TRACK);
    const sending = request(new URL('/v1/track', server.url), {
      method: 'POST',
      agent: new Agent({ keepAlive: true }),
      headers: { ...HEADERS, 'content-length': body.length },
    });
    const answered = once(sending, 'response');
    const arrived = once(server.app.getHttpServer(), 'request');
    sending.write(body.slice(0, 5));
    await arrived;
    const closed = server.close();
    await until(() => (server.app.getHttpServer().listening ? undefined : true));
    sending.end(body.slice(5));
    expect(await answered).toMatchObject([{ statusCode: 200, headers: { connection: 'close' } }]);
    await closed;
  });

  it('does not wait for an unfinished body when the application closes', async () => {
    const { server } = await start({ analytics: { shutdownTimeout: 2_000 } });
    const sending = request(new URL('/v1/track', server.url), {
      method: 'POST',
      headers: { ...HEADERS, 'content-length': 100 },
    });
    const answered = once(sending, 'response');
    const arrived = once(server.app.getHttpServer(), 'request');
    sending.write('{');
    await arrived;
    const begunAt = performance.now();
    const closed = server.close();
    expect(await answered).toMatchObject([{ statusCode: 503, headers: { connection: 'close' } }]);
    await closed;
    expect(performance.now() - begunAt).toBeLessThan(15_000);
  });

  /** Closes the application after the beginning of a request that is refused before its body has arrived. */
  async function closeDuringBody(): Promise<{ client: RawConnection; closed: Promise<void> }> {
    const { server } = await start({});
    const client = await stage.add(RawConnection.open(server));
    client.socket.write(`${headOf('/v1/track', 2, 'wk_unknown')}{`);
    await client.answered(1);
    const closed = server.close();
    await until(() => (server.app.getHttpServer().listening ? undefined : true));
    return { client, closed };
  }
  /** Once closed, Fastify itself refuses every request. */
  const answer = platform === 'Express' ? 200 : 503;

  it('answers what comes behind the rest of a refused body when the application closes', async () => {
    const { client, closed } = await closeDuringBody();
    client.socket.write(`}${headOf('/v1/track', BODY.length, 'wk_test')}${BODY}`);
    await once(client.socket, 'close');
    expect(client.statuses).toEqual([401, answer]);
    await closed;
  });

  it("answers the host's own request there, too", async () => {
    const { client, closed } = await closeDuringBody();
    client.socket.write('}GET /orders HTTP/1.1\r\nHost: x\r\n\r\n');
    await Promise.race([client.answered(2), once(client.socket, 'close')]);
    expect(client.statuses).toEqual([401, answer]);
    await client.close();
    await closed;
  });

  it('takes nothing that comes behind a body after which it closes the connection', async () => {
    const { server, receiver } = await start({});
    const client = await stage.add(RawConnection.open(server));
    const closed = once(client.socket, 'close');
    const tooLarge = 'x'.repeat(500 * 1_024 + 1);
    client.socket.write(headOf('/v1/batch', tooLarge.length, 'wk_test') + tooLarge.slice(1));
    await client.answered(1);
    client.socket.write(`x${headOf('/v1/track', BODY.length, 'wk_test')}${BODY}`);
    await closed;
    expect(client.statuses).toEqual([413]);
    await server.post('/v1/track', { ...TRACK, event: 'Later' }, HEADERS);
    expect((await receiver.received(1)).map((request) => messageIn(request).event)).toEqual(['Later']);
  });

  it("logs at start which of the host's own routes it hides, and `path` makes them available again", async () => {
    const hidden = await start({
      host: { controllers: [GroupsController] },
      configure: (app) => app.enableVersioning({ type: VersioningType.URI }),
    });
    const said = hidden.server.log.analytics.filter((line) => line.includes('are never reached'));
    expect(said).toHaveLength(2);
    expect(said[0]).toMatch(
      /answers POST \/v1\/group, .* own route POST \/v1\/group and its guards are never reached/,
    );
    expect(said[1]).toMatch(
      /answers POST \/v1\/batch, .*\/v1\/m, .* own route POST \/v1\/:kind and its guards are never reached/,
    );
    expect(said[0]).toContain("`trackingApi: { path: '/events' }`");
    expect(await hidden.server.post('/v1/group', {})).toMatchObject({ status: 401 });

    const moved = await start({
      host: { controllers: [GroupsController] },
      configure: (app) => app.enableVersioning({ type: VersioningType.URI }),
      analytics: { trackingApi: { path: '/events' } },
    });
    expect(moved.server.log.analytics.filter((line) => line.includes('are never reached'))).toEqual([]);
    expect(await moved.server.post('/v1/group', {})).toMatchObject({ status: 403 });
    expect(await moved.server.post('/events/v1/track', TRACK, HEADERS)).toMatchObject({ status: 200 });
  });

  it('is not served unless it is configured', async () => {
    const { server } = await start({ analytics: { trackingApi: false } });
    expect(await server.post('/v1/track', TRACK, HEADERS)).toMatchObject({ status: 404 });
  });

  it('answers 429 with the seconds to wait if a key exceeds its rate limit, and serves the other keys', async () => {
    const { server, receiver } = await start({
      analytics: {
        sources: [
          { name: 'busy', writeKey: 'wk_busy' },
          { name: 'quiet', writeKey: 'wk_quiet' },
        ],
        writeKey: undefined,
        trackingApi: { rateLimit: 2 },
      },
    });
    const batch = { batch: [TRACK, TRACK, TRACK, TRACK, TRACK] };
    expect(await server.post('/v1/batch', batch, basic('wk_busy'))).toMatchObject({ status: 200 });
    const limited = await server.post('/v1/track', TRACK, basic('wk_busy'));
    expect(limited).toMatchObject({ status: 429, body: { success: false, code: 'RATE_LIMITED' } });
    expect(limited.headers.get('retry-after')).toMatch(/^[12]$/);
    expect(await server.post('/v1/track', TRACK, basic('wk_quiet'))).toMatchObject({ status: 200 });
    await receiver.received(6);
  });

  it('serves an application that a testing module has made', async () => {
    const receiver = await stage.receiver();
    const testing = await Test.createTestingModule({
      imports: [
        AnalyticsModule.forRoot({
          writeKey: 'wk_test',
          webhooks: webhooksTo(receiver),
          connection: await newConnection(),
          trackingApi: true,
        }),
      ],
    }).compile();
    const adapter = platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter();
    const app: INestApplication = testing.createNestApplication(adapter, { logger: false });
    await stage.add(Promise.resolve(app));
    await app.listen(0, '127.0.0.1');
    const answer = await fetch(new URL('/v1/t', await app.getUrl()), {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify(TRACK),
    });
    expect(answer.status).toBe(200);
    await receiver.received(1);
  });
});

describe('the tracking API', () => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('takes calls until the application ends, even over a connection on which the host answers late', async () => {
    const shutdownTimeout = 2_000;
    const events = new EventEmitter();
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          connection: await newConnection(),
          webhooks: webhooksTo(await stage.receiver()),
          shutdownTimeout,
        },
        configure: (app) => {
          app.use('/held', (_request: unknown, response: ServerResponse) => {
            void once(events, 'over').then(() => response.end());
            events.emit('held');
          });
        },
      }),
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = async (path: string, of: RequestOptions, body = ''): Promise<number | undefined> => {
      const sending = request(new URL(path, server.url), { method: 'POST', headers: HEADERS, ...of });
      const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
      sending.write(body);
      if (of.agent !== undefined) sending.end();
      const [response] = await answered;
      response.resume();
      await once(response, 'end');
      return response.statusCode;
    };
    const arrived = once(events, 'held');
    const held = send('/held', { agent });
    await arrived;
    const unfinished = send('/v1/track', {}, '{');
    await once(server.app.getHttpServer(), 'request');
    const closed = server.close();
    expect(await unfinished).toBe(503);
    await sleep(shutdownTimeout);
    events.emit('over');
    expect(await held).toBe(200);
    expect(await send('/v1/track', { agent }, JSON.stringify(TRACK))).toBe(200);
    agent.destroy();
    await closed;
  });

  it('comes before everything that was added to the Express application outside of Nest', async () => {
    const express = new ExpressAdapter();
    express.enableCors({ origin: 'https://admin.example', credentials: true });
    express.useBodyParser('json', false, { type: () => true });
    express.use((_request: unknown, response: ServerResponse) => {
      response.writeHead(403).end();
    });
    express.set('trust proxy', true);
    const receiver = await stage.receiver();
    const app = await stage.add(
      NestFactory.create(
        AnalyticsModule.forRoot({
          writeKey: 'wk_test',
          webhooks: webhooksTo(receiver),
          connection: await newConnection(),
          trackingApi: true,
        }),
        express,
        { logger: false },
      ),
    );
    await app.listen(0, '127.0.0.1');
    const answer = await fetch(new URL('/v1/t', await app.getUrl()), {
      method: 'POST',
      headers: { ...HEADERS, origin: 'https://shop.example', 'x-forwarded-for': '203.0.113.9' },
      body: JSON.stringify(TRACK),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect((await receiver.received(1)).map((request) => messageIn(request).context.ip)).toEqual([
      '203.0.113.9',
    ]);
    const host = await fetch(new URL('/orders', await app.getUrl()));
    expect(host.status).toBe(403);
    expect(host.headers.get('access-control-allow-origin')).toBe('https://admin.example');

    // On a server of the host's own, the handlers of the application keep their order.
    const own = await stage.add(Promise.resolve(new OwnServer(express.getInstance())));
    expect((await own.post('/v1/t')).status).toBe(403);
  });

  it('is served by a server that the host makes for its Express application', async () => {
    const express = new ExpressAdapter();
    const receiver = await stage.receiver();
    const app = await stage.add(
      NestFactory.create(
        AnalyticsModule.forRoot({
          writeKey: 'wk_test',
          webhooks: webhooksTo(receiver),
          connection: await newConnection(),
          trackingApi: true,
        }),
        express,
        { logger: false },
      ),
    );
    await app.init();
    const own = await stage.add(Promise.resolve(new OwnServer(express.getInstance())));
    expect((await own.post('/v1/t')).status).toBe(200);
    await receiver.received(1);
  });

  it('has no effect in an application that has no web server', async () => {
    const connection = await newConnection();
    const app = await stage.app({ connection, trackingApi: true });
    app.analytics.track(TRACK);
    expect(await app.analytics.flush()).toMatchObject({ refused: 0 });
  });

  it('throws an error on an unsupported web server', () => {
    class OtherAdapter extends ExpressAdapter {
      override getInstance(): never {
        return {} as never;
      }
      override getType(): string {
        return 'other';
      }
    }
    const host = new HttpAdapterHost();
    host.httpAdapter = new OtherAdapter();
    const api = { handle: () => Promise.reject(new Error('unused')), close: () => undefined };
    const log = new LogLines();
    const handler = new TrackingApiHandler(api, '', log, 1_000);
    expect(() => new HttpMount(host, handler, log)).toThrow(UnsupportedAdapterError);
  });
});
