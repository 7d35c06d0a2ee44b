import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { describe, expect, it } from '@jest/globals';
import { AnalyticsModule } from '../../../src/index.js';
import { quickConnections } from '../../support/quick-connections.js';
import { messageIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { basic } from './tracking-server.js';

const LONG_ID = '1234567890123456789';

/** A server that the host creates beside the server of Nest. */
class OwnServer {
  private constructor(
    private readonly server: Server,
    private readonly url: string,
  ) {}

  static async start(listener: RequestListener): Promise<OwnServer> {
    const server = createServer(listener);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('The server does not listen');
    return new OwnServer(server, `http://127.0.0.1:${address.port}`);
  }

  post(body: string): Promise<Response> {
    const headers = { ...basic('wk_test'), 'content-type': 'application/json' };
    return fetch(`${this.url}/v1/track`, { method: 'POST', headers, body });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await once(this.server.close(), 'close');
  }
}

describe('a body that a parser of the host has read before the tracking API', () => {
  const stage = new Stage();
  const newConnection = quickConnections();

  /** Starts an Express application that was made outside of Nest, with its own parser and its own server. */
  async function start(
    parse: (express: ExpressAdapter) => unknown,
  ): Promise<{ own: OwnServer; receiver: Receiver }> {
    const express = new ExpressAdapter();
    parse(express);
    const receiver = await stage.receiver();
    const analytics = AnalyticsModule.forRoot({
      writeKey: 'wk_test',
      webhooks: webhooksTo(receiver),
      connection: await newConnection(),
      trackingApi: true,
    });
    const app = await stage.add(NestFactory.create(analytics, express, { logger: false }));
    await app.init();
    return { own: await stage.add(OwnServer.start(express.getInstance())), receiver };
  }

  it.each([
    ['with its bytes', 'json', true],
    ['without its bytes', 'json', false],
    ['as bytes', 'raw', false],
    ['as a text', 'text', false],
  ] as const)('is taken if the parser has left it %s', async (_, parser, keepsBytes) => {
    const { own, receiver } = await start((express) =>
      express.useBodyParser(parser, keepsBytes, { type: () => true, limit: '1mb' }),
    );
    const answer = await own.post('{"userId":"u1","event":"Opened"}');
    expect(await answer.json()).toEqual({ success: true });
    const messages = (await receiver.received(1)).map(messageIn);
    expect(messages).toMatchObject([{ userId: 'u1', event: 'Opened' }]);
    const tooLarge = await own.post(`{"userId":"u1","event":"Opened","filler":"${'x'.repeat(512_000)}"}`);
    expect(tooLarge.status).toBe(413);
  });

  it('keeps the digits of a numeric id if its bytes are there, and is refused if they are not', async () => {
    const message = `{"userId":${LONG_ID},"event":"Opened"}`;
    const whole = await start((express) => express.useBodyParser('json', true));
    expect((await whole.own.post(message)).status).toBe(200);
    const messages = (await whole.receiver.received(1)).map(messageIn);
    expect(messages).toMatchObject([{ userId: LONG_ID }]);
    const parsed = await start((express) => express.useBodyParser('json', false));
    expect(await (await parsed.own.post(message)).json()).toMatchObject({ code: 'INVALID_MESSAGE' });
  });

  it.each([
    ['a list', '[]', 'INVALID_BODY'],
    ['empty', '', 'INVALID_MESSAGE'],
  ])('is refused if it is %s', async (_, body, code) => {
    const { own } = await start((express) => express.useBodyParser('json', false));
    const answer = await own.post(body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code });
  });

  it('is refused if it is nested too deeply', async () => {
    const { own } = await start((express) => express.useBodyParser('json', false));
    const deep = `${'['.repeat(40_000)}${']'.repeat(40_000)}`;
    const answer = await own.post(`{"userId":"u1","event":"Opened","properties":{"deep":${deep}}}`);
    expect(answer.status).toBe(400);
  });
});
