import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { Controller, Get, Post } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import type { DestinationsOptions } from '../../src/index.js';
import { PLATFORMS, type ServerOptions, TrackingServer } from '../ingest/http/tracking-server.js';
import { FrontProxy } from '../console/front-proxy.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { ApiServer, authorize } from './api-server.js';

const PATH = '/analytics/destinations';
const URLS = ['https://hooks.example.com/events'];
const COOKIE = { cookie: 'user=acme' };
const JSON_TYPE = { 'content-type': 'application/json' };

@Controller('analytics')
class OwnController {
  @Get('destinations/:id/report')
  report(): string {
    return 'own';
  }

  @Post('orders')
  orders(): string {
    return 'own';
  }
}

describe.each(PLATFORMS)('a request to a host with the API of the destinations on %s', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  async function start(
    destinations?: DestinationsOptions,
    host: Partial<ServerOptions> & { trackingApi?: boolean; shutdownTimeout?: number } = {},
  ): Promise<ApiServer> {
    const connection = await newConnection();
    return stage.add(ApiServer.start({ platform, connection, ...host }, destinations));
  }

  it('does not delay the end of the application, however long it would take', async () => {
    const receiver = await stage.receiver({ answer: () => new Promise<never>(() => undefined) });
    const { acme, server } = await start(undefined, { shutdownTimeout: 2_000 });
    const id = await acme.create({ urls: [receiver.url()], timeout: 60_000 });
    const answered = acme.post(`/${id}/test`);
    await receiver.received(1);
    const begunAt = performance.now();
    await server.close();
    expect(performance.now() - begunAt).toBeLessThan(20_000);
    const answer = await answered;
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'ANALYTICS_CLOSED' } } });
    expect(answer.headers.get('connection')).toBe('close');
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(server.log.errors).toEqual([]);
    expect(server.log.analytics).toContainEqual(
      expect.stringMatching(
        /Audit: the tenant "acme" sent a test event to .* It failed \(ANALYTICS_CLOSED\)/,
      ),
    );
  });

  it('reaches the API only below its path, and the log names routes of the host that are not reached', async () => {
    const { server, path } = await start(undefined, {
      host: { controllers: [OwnController] },
      trackingApi: true,
      configure: (app) => {
        app.enableCors({ origin: true, credentials: true });
      },
    });
    const hidden = server.log.analytics.filter((line) => line.includes('are never reached'));
    expect(hidden).toHaveLength(1);
    expect(hidden[0]).toMatch(
      /The destinations API answers \/analytics\/destinations, .* own route GET .*\/report and its guards are never reached/,
    );
    expect(hidden[0]).toContain('give the destinations API a path of its own');
    expect(await server.post('/analytics/orders', {})).toMatchObject({ status: 201, body: 'own' });
    expect(await server.send(`${path}/dst_1/report`, {})).toMatchObject({ status: 401 });
    expect(await server.post('/v1/track', {})).toMatchObject({
      status: 401,
      body: { code: 'UNKNOWN_WRITE_KEY' },
    });
  });

  it('causes log lines that name the options of the console if only the console has the API', async () => {
    const fail = (): never => {
      throw new Error('teehee');
    };
    const server = await stage.add(
      TrackingServer.start({
        platform,
        host: { controllers: [OwnController] },
        analytics: {
          connection: await newConnection(),
          destinations: { encryptionKey: false },
          console: { authorize: fail },
        },
      }),
    );
    expect((await server.send(PATH, {})).status).toBe(500);
    expect(server.log.analytics).toEqual([
      expect.stringMatching(
        /The console answers \/analytics\/destinations, .* give the console a path of its own: `console: \{ path: /,
      ),
      expect.stringMatching(/`console\.authorize` threw Error at/),
    ]);
  });

  it('is answered at another path if one is given', async () => {
    const { server, acme } = await start({ api: { path: '/api/webhooks/', authorize } });
    const created = await acme.post('', { urls: URLS });
    expect(created.headers.get('location')).toMatch(/^\.\/webhooks\/dst_/);
    expect(await server.send(PATH, { headers: COOKIE })).toMatchObject({ status: 404 });
  });

  it.each(['', '/', '?from=page'])(
    'that adds a destination behind a proxy that cuts off a path gets its address, at …%s',
    async (end) => {
      const { server } = await start();
      const proxy = await stage.add(FrontProxy.start(server.url, '/shop'));
      const address = `${proxy.url}/shop${PATH}${end}`;
      const headers = { ...COOKIE, ...JSON_TYPE };
      const created = await fetch(address, { method: 'POST', headers, body: JSON.stringify({ urls: URLS }) });
      const { id } = (await created.json()) as { id: string };
      const location = new URL(created.headers.get('location') ?? '', address);
      const found = await fetch(location, { headers });
      expect(await found.json()).toMatchObject({ id, urls: URLS });
    },
  );

  it('that is in progress when the application closes is answered, and its connection ends', async () => {
    const { server, path, http } = await start();
    const body = JSON.stringify({ urls: URLS });
    const headers = { ...COOKIE, ...JSON_TYPE, 'content-length': body.length };
    const sending = request(new URL(path, server.url), {
      method: 'POST',
      agent: new Agent({ keepAlive: true }),
      headers,
    });
    const answered = once(sending, 'response');
    const arrived = once(http, 'request');
    sending.write(body.slice(0, 5));
    await arrived;
    const closed = server.close();
    await until(() => (http.listening ? undefined : true));
    sending.end(body.slice(5));
    expect(await answered).toMatchObject([{ statusCode: 201, headers: { connection: 'close' } }]);
    await closed;
  });
});
