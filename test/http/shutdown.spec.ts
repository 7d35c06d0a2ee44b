import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OwnRoutes } from '../../src/http/host-routes.js';
import type { HttpAnswer } from '../../src/http/http-answer.js';
import { HttpHandler, type RequestLine, type RoutedRequest } from '../../src/http/http-handler.js';

/** More than the buffers of a connection hold. */
const LONG = 'x'.repeat(16 * 1024 * 1024);
const SHORT = 'short';
/** Path of requests that are answered with `SHORT` at once. */
const AT_ONCE = '/at-once';
/** Longer than any test takes. */
const LONG_TIMEOUT = 600_000;
const GET = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';
const HALF_POST = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345';

/** Answers each request without reading its body, and most of them late. */
class Answers extends HttpHandler {
  readonly routes: OwnRoutes = { name: 'The test', method: 'ALL', paths: ['/'], isTree: true, option: '' };
  readonly isOpenToPages = false;
  protected readonly maxBytes = 1_000;

  constructor(
    shutdownTimeout: number,
    private readonly body: Promise<string>,
  ) {
    super(shutdownTimeout);
  }

  protected routeOf({ url }: RequestLine): unknown {
    return url;
  }

  protected async answerTo({ route }: RoutedRequest<unknown>): Promise<HttpAnswer> {
    return { status: 200, headers: {}, body: route === AT_ONCE ? SHORT : await this.body };
  }

  protected refused(): HttpAnswer {
    return { status: 503, headers: {}, body: '' };
  }
}

describe('a web server that closes', () => {
  let server: Server;
  let handler: Answers;
  let client: Socket;
  let connection: Socket;
  let answered: Promise<void>;

  beforeEach(async () => {
    // Idle connections stay open. Those of Fastify do for longer than most processes may take to end.
    server = createServer({ keepAliveTimeout: 0 }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    client.destroy();
    server.closeAllConnections();
  });

  /** Sends requests over one connection. Resolves when they have arrived. */
  async function send(
    requests: string,
    shutdownTimeout: number,
    body: string | Promise<string>,
  ): Promise<void> {
    handler = new Answers(shutdownTimeout, Promise.resolve(body));
    const arrived = once(server, 'request');
    server.once('connection', (socket) => (connection = socket));
    server.on('request', (raw, response) => {
      answered = handler.answer(raw, response, undefined);
    });
    client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    client.on('error', () => undefined).write(requests);
    await arrived;
  }

  function close(): Promise<unknown> {
    handler.beforeApplicationShutdown();
    return once(server.close(), 'close');
  }

  it('does not wait for the rest of a body that was answered before it had arrived', async () => {
    await send(HALF_POST, 100, SHORT);
    await answered;
    await close();
  });

  it('does not keep the connection over which the rest of such a body arrives', async () => {
    await send(HALF_POST, LONG_TIMEOUT, SHORT);
    await answered;
    const closed = close();
    client.write('67890');
    expect(await text(client)).toContain(SHORT);
    await closed;
  });

  it('does not wait for a client that leaves its last answer unread', async () => {
    const { promise, resolve } = withResolvers();
    await send(GET, 100, promise);
    const closed = close().then(() => 'the server has closed');
    resolve(LONG);
    await answered;
    const unread = once(connection, 'timeout').then(() => 'the answer counts as unread');
    expect(await Promise.race([closed, unread])).toBe('the server has closed');
  });

  it('refuses what is late although a later request over the connection was answered in time', async () => {
    await send(GET + GET.replace('/', AT_ONCE), 100, withResolvers().promise);
    const closed = close();
    const answers = (await text(client)).match(/HTTP\/1.1 \d+|short/g);
    expect(answers).toEqual(['HTTP/1.1 503', 'HTTP/1.1 200', SHORT]);
    await closed;
  });

  it('answers all that a client has sent at once, and closes the connection after the last of these', async () => {
    const { promise, resolve } = withResolvers();
    await send(GET.repeat(3), LONG_TIMEOUT, promise);
    const closed = close();
    resolve(SHORT);
    const answers = (await text(client)).match(/connection: close|short/gi);
    expect(answers).toEqual([SHORT, SHORT, 'Connection: close', SHORT]);
    await closed;
  });

  it('lets a client read its last answer', async () => {
    const { promise, resolve } = withResolvers();
    await send(GET, LONG_TIMEOUT, promise);
    const closed = close();
    resolve(LONG);
    expect(await text(client)).toContain(LONG);
    await closed;
  });
});

function withResolvers(): { promise: Promise<string>; resolve: (body: string) => void } {
  let resolve: (body: string) => void = () => undefined;
  const promise = new Promise<string>((done) => (resolve = done));
  return { promise, resolve };
}
