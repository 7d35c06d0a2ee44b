import { once } from 'node:events';
import { createServer, IncomingMessage, request as send, type Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OwnRoutes } from '../../src/http/host-routes.js';
import type { HttpAnswer } from '../../src/http/http-answer.js';
import { HttpHandler, type RequestLine, type RoutedRequest } from '../../src/http/http-handler.js';
import { UnreadAnswers } from '../../src/http/unread-answers.js';
import { until } from '../support/until.js';

const MEGABYTE = 1024 * 1024;
/** More than the buffers of a connection hold. */
const BODY = 'x'.repeat(8 * MEGABYTE);

/** Answers every request, with a large body unless the path is `/short`. */
class LongAnswers extends HttpHandler<string> {
  readonly routes: OwnRoutes = { name: 'The test', method: 'GET', paths: ['/'], isTree: true, option: '' };
  readonly isOpenToPages = false;
  protected readonly maxBytes = 0;

  protected routeOf({ url = '/' }: RequestLine): string {
    return url;
  }

  protected answerTo({ route }: RoutedRequest<string>): Promise<HttpAnswer> {
    return Promise.resolve({ status: 200, headers: {}, body: route === '/short' ? 'short' : BODY });
  }

  protected refused(): HttpAnswer {
    return { status: 503, headers: {}, body: '' };
  }
}

/** Creates unread answers on connections, and counts how often their state is read. */
class CountedLooks {
  count = 0;

  answersOn(socket: Socket, count: number): ServerResponse[] {
    this.countLooksAt(socket, 'destroyed', false);
    return Array.from({ length: count }, () => {
      const response = new ServerResponse(new IncomingMessage(socket));
      this.countLooksAt(response, 'writableLength', 1_024);
      return response;
    });
  }

  private countLooksAt(object: object, property: string, value: unknown): void {
    const get = (): unknown => {
      this.count++;
      return value;
    };
    Object.defineProperty(object, property, { get });
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

  /** Sends a request on a new connection, and reads nothing. */
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

  it('takes at most 32 MB together with all other unread answers, and clients that read get theirs', async () => {
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

  it('closes the connection of a client that has pipelined its requests', async () => {
    const handler = new LongAnswers(1_000);
    server.on('request', (request, response) => void handler.answer(request, response, undefined));
    const pipelining = connect(port, '127.0.0.1').pause();
    clients.push(pipelining);
    pipelining.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(10));
    await once(server, 'request');
    await until(async () => ((await openConnections()) === 0 ? true : undefined));
  });

  it('costs the same however many other unread answers there are', () => {
    const unread = new UnreadAnswers();
    const looks = new CountedLooks();
    const answers = Array.from({ length: 60 }, () => looks.answersOn(new Socket(), 50)).flat();
    for (const answer of answers) unread.watch(answer);
    for (const answer of answers) answer.emit('close');
    expect(looks.count).toBeLessThan(10 * answers.length);
  });

  it('is one of at most a hundred on its connection, and other clients get their answers', async () => {
    const handler = new LongAnswers(1_000);
    let sent = 0;
    server.on('request', (request, response) => {
      response.once('finish', () => sent++);
      void handler.answer(request, response, undefined);
    });
    for (let asked = 0; asked < 5; asked += 1) {
      const pipelining = connect(port, '127.0.0.1').pause();
      clients.push(pipelining);
      pipelining
        .on('error', () => undefined)
        .write('GET /short HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1_000));
    }
    await once(server, 'request');
    const request = send({ port, host: '127.0.0.1', path: '/short', agent: false }).end();
    const [answer] = (await once(request, 'response')) as [NodeJS.ReadableStream];
    expect((await buffer(answer)).toString()).toBe('short');
    await until(async () => ((await openConnections()) === 0 ? true : undefined));
    expect(sent).toBeLessThanOrEqual(5 * 100 + 1);
  });

  it('does not keep a client that reads from sending a hundred requests at once', async () => {
    const handler = new LongAnswers(1_000);
    server.on('request', (request, response) => void handler.answer(request, response, undefined));
    const pipelining = connect(port, '127.0.0.1');
    clients.push(pipelining);
    pipelining.write('GET /short HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(99));
    pipelining.write('GET /short HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    const answers = (await buffer(pipelining)).toString();
    expect(answers.match(/\r\nshort/g)).toHaveLength(100);
  });
});
