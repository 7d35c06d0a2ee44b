import { once } from 'node:events';
import type { Server } from 'node:http';
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AnalyticsModule } from '../../src/index.js';
import { moduleOptions } from '../support/analytics-app.js';
import { quickConnections } from '../support/quick-connections.js';
import { consoleOptions } from './console-app.js';

const PATH = '/analytics/destinations';

@Module({})
class HostModule {}

describe('the console of an application that speaks HTTP/2', () => {
  const newConnection = quickConnections();
  let app: INestApplication<Server>;
  let session: ClientHttp2Session;
  let host: string;

  beforeEach(async () => {
    const analytics = consoleOptions({ connection: await newConnection() });
    const module = { module: HostModule, imports: [AnalyticsModule.forRoot(moduleOptions(analytics))] };
    app = await NestFactory.create(module, new FastifyAdapter({ http2: true }), { logger: false });
    await app.listen(0, '127.0.0.1');
    host = `127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    session = connect(`http://${host}`);
  });
  afterEach(async () => {
    session.destroy();
    await app.close();
  });

  async function ask(headers: OutgoingHttpHeaders, body = ''): Promise<[status: unknown, text: string]> {
    const page = { cookie: 'user=acme', 'x-analytics-console': '1', 'content-type': 'application/json' };
    const request = session.request({ ...page, ...headers }, { endStream: false }).end(body);
    const [answer] = (await once(request, 'response')) as [Record<string, unknown>];
    return [answer[':status'], await text(request)];
  }

  it('accepts changes from its own page only', async () => {
    const body = JSON.stringify({ urls: ['https://acme.example'] });
    const change = { ':method': 'POST', ':path': PATH };
    expect(await ask({ ...change, origin: 'http://evil.example' }, body)).toEqual([
      403,
      expect.stringContaining('CROSS_ORIGIN'),
    ]);
    expect(await ask({ ...change, origin: `http://${host}` }, body)).toEqual([
      201,
      expect.stringContaining('"urls":["https://acme.example"]'),
    ]);
  });
});
