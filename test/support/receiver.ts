import { EventEmitter, once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';

/** A request as it arrived, byte for byte. */
export interface ReceivedRequest {
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** Names and values in turn, as sent. */
  rawHeaders: string[];
  body: Buffer;
  /** Number of the receiver's connection that the request came on, from 0. */
  connection: number;
}

/** A status, a whole response, or a function that writes anything, or nothing, itself. */
export type Answer =
  | number
  | { status: number; headers?: Record<string, string | string[]>; body?: string | Buffer }
  | ((response: ServerResponse, socket: Socket) => void);

export interface ReceiverOptions {
  /**
   * The answers: a function of the request and its index, or a list to answer one request after another, whose last
   * answer repeats.
   *
   * @default 200
   */
  answer?: ((request: ReceivedRequest, index: number) => Answer | Promise<Answer>) | readonly Answer[];
  /** Milliseconds for which the receiver keeps an idle connection; 0 means without end. @default Node's */
  keepAliveTimeout?: number;
  /** Listen with TLS. */
  tls?: ServerOptions;
  /** A loopback address. @default 127.0.0.1 */
  host?: string;
  /** @default a free port */
  port?: number;
}

/** A real HTTP(S) server on the loopback interface that records what it receives. */
export class Receiver {
  readonly requests: ReceivedRequest[] = [];
  readonly #server: Server;
  readonly #sockets: Socket[] = [];
  readonly #events = new EventEmitter();
  readonly #options: ReceiverOptions;

  private constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#server = options.tls === undefined ? createHttpServer() : createHttpsServer(options.tls);
    if (options.keepAliveTimeout !== undefined) this.#server.keepAliveTimeout = options.keepAliveTimeout;
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#receive(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : new Error(String(error)));
      });
    });
    this.#server.on(options.tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.#sockets.push(socket);
      // Some tests are about clients that go away.
      socket.on('error', () => undefined);
    });
  }

  static async start(options: ReceiverOptions = {}): Promise<Receiver> {
    const receiver = new Receiver(options);
    receiver.#server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  /** Number of connections that were opened so far. */
  get connections(): number {
    return this.#sockets.length;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The receiver is not listening.');
    return address.port;
  }

  /** A URL of this receiver. */
  url(path = '/'): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://${this.#options.host ?? '127.0.0.1'}:${this.port}${path}`;
  }

  /** Returns URLs of this receiver by their paths without the slash. */
  urls(paths: readonly string[]): Record<string, string> {
    return Object.fromEntries(paths.map((path) => [path, this.url(`/${path}`)]));
  }

  /** Resolves to all requests as soon as `count` have arrived. */
  async received(count: number): Promise<ReceivedRequest[]> {
    while (this.requests.length < count) await once(this.#events, 'request');
    return this.requests;
  }

  /** Stops listening and ends every connection. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = this.#sockets.indexOf(incoming.socket);
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const { method = '', url = '', headers, rawHeaders } = incoming;
    const request = { method, url, headers, rawHeaders, body: Buffer.concat(chunks), connection };
    const index = this.requests.push(request) - 1;
    this.#events.emit('request');
    const answer = await this.#answer(request, index);
    if (typeof answer === 'function') {
      answer(response, incoming.socket);
    } else if (typeof answer === 'number') {
      response.writeHead(answer).end();
    } else {
      response.writeHead(answer.status, answer.headers).end(answer.body);
    }
  }

  #answer(request: ReceivedRequest, index: number): Answer | Promise<Answer> {
    const { answer } = this.#options;
    if (typeof answer === 'function') return answer(request, index);
    return answer?.at(Math.min(index, answer.length - 1)) ?? 200;
  }
}
