import { once } from 'node:events';
import { createServer, request as send, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OwnRoutes } from '../../src/http/host-routes.js';
import type { HttpAnswer } from '../../src/http/http-answer.js';
import { HttpHandler } from '../../src/http/http-handler.js';
import { UnreadAnswers } from '../../src/http/unread-answers.js';
import { until } from '../support/until.js';

const MEGABYTE = 1024 * 1024;
/** More than the buffers of a connection hold. */
const BODY = 'x'.repeat(8 * MEGABYTE);

/** Answers everything at length. */
class LongAnswers extends HttpHandler {
  readonly routes: OwnRoutes = { name: 'The test', method: 'GET', paths: ['/'], isTree: true, option: '' };
  readonly isOpenToPages = false;
  protected readonly maxBytes = 0;

  protected routeOf(): string {
    return '/';
  }

  protected answerTo(): Promise<HttpAnswer> {
    return Promise.resolve({ status: 200, headers: {}, body: BODY });
  }

  protected refused(): HttpAnswer {
    return { status: 503, headers: {}, body: '' };
  }
}

describe('an answer that nobody reads', () => {
  let server: Server;
  let port: number;
  let clients: Socket[];

  beforeEach(async () => {
    clients = [];
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });

  afterEach(async () => {
    for (const client of clients) client.destroy();
    server.close();
    await once(server, 'close');
  });

  /** Asks on a connection of its own, and reads nothing. */
  const ask = async (): Promise<void> => {
    const client = connect(port, '127.0.0.1').pause();
    client.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    clients.push(client);
    await once(server, 'request');
  };

  const openConnections = (): Promise<number> =>
    new Promise((resolve, reject) => {
      server.getConnections((error, count) => {
        if (error === null) resolve(count);
        else reject(error);
      });
    });

  it('takes no more than 32 MB together with all others, and who reads theirs gets it', async () => {
    const handler = new LongAnswers(1_000);
    server.on('request', (request, response) => void handler.answer(request, response, undefined));
    for (let asked = 0; asked < 20; asked += 1) await ask();
    await until(async () => ((await openConnections()) <= 4 ? true : undefined));

    const request = send({ port, host: '127.0.0.1', agent: false }).end();
    const [answer] = (await once(request, 'response')) as [NodeJS.ReadableStream];
    expect((await buffer(answer)).length).toBe(BODY.length);
  });

  it('is given up after a while', async () => {
    const unread = new UnreadAnswers({ stallTime: 100 });
    server.on('request', (_, response) => {
      response.end(BODY);
      unread.watch(response);
    });
    await ask();
    await until(async () => ((await openConnections()) === 0 ? true : undefined));
  });

  it('closes the connection of a client that has sent all its requests at once', async () => {
    const handler = new LongAnswers(1_000);
    server.on('request', (request, response) => void handler.answer(request, response, undefined));
    const pipelining = connect(port, '127.0.0.1').pause();
    clients.push(pipelining);
    pipelining.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(10));
    await once(server, 'request');
    await until(async () => ((await openConnections()) === 0 ? true : undefined));
  });
});
