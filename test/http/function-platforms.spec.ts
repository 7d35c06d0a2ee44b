import type { RequestListener, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { consoleOptions } from '../console/console-app.js';
import { basic, TrackingServer } from '../ingest/http/tracking-server.js';
import { callAsFunction, type FunctionCall } from '../support/function-call.js';
import { quickConnections } from '../support/quick-connections.js';
import { messageIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';

const TRACK = JSON.stringify({ userId: 'u1', event: 'Opened' });
const OPERATOR = { cookie: 'user=operator', 'x-analytics-console': '1' };

describe('an application on a serverless platform, where connections are not sockets', () => {
  const stage = new Stage(afterAll);
  const newConnection = quickConnections();
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown): void => {
    rejections.push(reason);
  };
  let server: TrackingServer;
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await stage.receiver();
    const options = {
      writeKey: 'wk_test',
      webhooks: webhooksTo(receiver),
      connection: await newConnection(),
    };
    server = await stage.add(
      TrackingServer.start({ platform: 'Express', analytics: consoleOptions(options) }),
    );
  });
  beforeEach(() => {
    rejections.length = 0;
    server.log.all.length = 0;
    process.on('unhandledRejection', onRejection);
  });
  afterEach(() => {
    process.off('unhandledRejection', onRejection);
  });

  const call = (request: FunctionCall): Promise<{ status: number; text: string }> => {
    const listener: unknown = server.app.getHttpAdapter().getInstance();
    return callAsFunction(listener as RequestListener, request);
  };

  /** Resolves to the unhandled rejections, which are known one turn of the event loop after the answer. */
  const rejected = async (): Promise<unknown[]> => {
    await new Promise(setImmediate);
    return rejections;
  };

  it('takes calls over HTTP, and answers each', async () => {
    const headers = basic('wk_test');
    for (const path of ['/v1/track', '/v1/t']) {
      const answer = await call({ method: 'POST', url: path, headers, body: TRACK });
      expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('"success":true') });
    }
    expect(await rejected()).toEqual([]);
    const messages = (await receiver.received(1)).map(messageIn);
    expect(messages[0]).toMatchObject({ event: 'Opened', context: { ip: '203.0.113.9' } });
    expect(server.log.errors).toEqual([]);
  });

  it.each([
    ['the page of the console', '/analytics', 200, 'html'],
    ['a report of the console', '/analytics/overview', 200, 'messages'],
    ['the destinations API', '/analytics/destinations', 200, '"destinations"'],
    ['nothing, with 404', '/analytics/destinations/a/b/c', 404, 'NOT_FOUND'],
  ])('serves %s', async (_, url, status, text) => {
    const answer = await call({ method: 'GET', url, headers: OPERATOR });
    expect(answer).toMatchObject({ status, text: expect.stringContaining(text) });
    expect(await rejected()).toEqual([]);
    expect(server.log.errors).toEqual([]);
  });

  it('survives a response that it cannot write to, breaks it off, and logs the reason once', async () => {
    const refuse = (_: unknown, response: ServerResponse): void => {
      response.writeHead = () => {
        throw new TypeError('not here');
      };
    };
    server.app.getHttpServer().prependListener('request', refuse);
    const headers = basic('wk_test');
    for (let sent = 0; sent < 2; sent++) {
      await expect(server.post('/v1/track', TRACK, headers)).rejects.toThrow();
    }
    server.app.getHttpServer().off('request', refuse);
    expect(await server.post('/v1/track', TRACK, headers)).toMatchObject({ status: 200 });
    expect(await rejected()).toEqual([]);
    expect(server.log.errors).toHaveLength(1);
    expect(server.log.errors[0]).toContain('The tracking API could not write an answer: TypeError at ');
  });
});

describe('an application on Fastify whose requests come from `inject`, and so over no connection', () => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('answers them, and closes', async () => {
    const shutdownTimeout = 100;
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Fastify',
        analytics: { connection: await newConnection(), writeKey: 'wk_test', shutdownTimeout },
      }),
    );
    const app = server.app as NestFastifyApplication;
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/track',
      headers: { ...basic('wk_test'), 'content-type': 'application/json' },
      payload: TRACK,
    });
    expect(answer.statusCode).toBe(200);
    await server.close();
    // By then, all connections that clients still held would have been closed.
    await new Promise((resolve) => setTimeout(resolve, shutdownTimeout));
    expect(server.log.errors).toEqual([]);
  });
});
