import { EventEmitter, on, once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../support/until.js';

/**
 * Answers a request in place of the application, or lets it pass.
 *
 * @param lose lets the request pass, and then loses the answer together with the connection
 */
export type Instead = (response: ServerResponse, pass: () => void, lose: () => void) => void;

/** Requests that wait at the proxy. */
export interface HeldRequests {
  /** Resolves to the path of the next request that arrives. */
  next: () => Promise<string>;
  /** Returns the number of requests that wait. */
  count: () => number;
  /** Lets these requests and all later ones pass. */
  release: () => void;
}

/** A proxy in front of an application. It can answer some paths itself. */
export class FrontProxy {
  /** Answers in place of the application's, by a part of the path. */
  private readonly instead = new Map<string, Instead>();
  /** Times of the requests that the proxy answered itself. */
  private readonly times: number[] = [];
  /** Answers of the application that are being passed on. */
  private readonly passing = new Map<IncomingMessage, ServerResponse>();

  private constructor(
    private readonly target: string,
    private readonly base: string,
    private readonly server: Server,
  ) {
    server.on('request', (asked: IncomingMessage, response: ServerResponse) => {
      const { url = '' } = asked;
      const found = [...this.instead].find(([part]) => url.includes(part));
      if (found === undefined) {
        this.pass(asked, response);
      } else {
        this.times.push(performance.now());
        found[1](
          response,
          () => {
            this.pass(asked, response);
          },
          () => {
            this.pass(asked, response, true);
          },
        );
      }
    });
  }

  /**
   * @param target origin of the application
   * @param base path under which the proxy serves the application, and which the application does not see
   */
  static async start(target: string, base = ''): Promise<FrontProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FrontProxy(target, base, server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Answers requests whose path contains `part`, and forgets the times of earlier requests. */
  answer(part: string, instead: Instead): void {
    this.instead.set(part, instead);
    this.times.length = 0;
  }

  /** Makes requests wait whose path contains `part`. */
  hold(part: string): HeldRequests {
    const events = new EventEmitter();
    const waiting = new Set<() => void>();
    const came = on(events, 'came');
    this.answer(part, (response, pass) => {
      waiting.add(pass);
      response.once('close', () => waiting.delete(pass));
      events.emit('came', response.req.url);
    });
    return {
      next: async () => ((await came.next()).value as [string])[0],
      count: () => waiting.size,
      release: () => {
        this.instead.delete(part);
        for (const pass of waiting) pass();
      },
    };
  }

  /** Passes all requests to the application. */
  passAll(): void {
    this.instead.clear();
  }

  /** Stops passing on the answers that are open, but leaves their connections open. */
  silence(): void {
    for (const [answer, response] of this.passing) answer.unpipe(response).resume();
  }

  /** Resolves to the milliseconds between requests that the proxy answers, once there are so many of these pauses. */
  async pauses(count: number): Promise<number[]> {
    const times = await until(() => (this.times.length > count ? this.times : undefined));
    return times.slice(1).map((time, index) => time - (times[index] ?? 0));
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private pass(asked: IncomingMessage, response: ServerResponse, isLost = false): void {
    const { method, headers, url = '' } = asked;
    if (!url.startsWith(`${this.base}/`)) {
      response.writeHead(404).end();
      return;
    }
    const passed = request(
      new URL(url.slice(this.base.length), this.target),
      { method, headers },
      (answer) => {
        if (isLost) {
          answer.resume();
          response.destroy();
          return;
        }
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        this.passing.set(answer, response);
        // One side has gone away, as at the end of a test.
        answer.on('error', () => response.destroy()).once('close', () => this.passing.delete(answer));
      },
    );
    passed.on('error', () => response.destroy());
    response.once('close', () => passed.destroy());
    asked.pipe(passed);
  }
}
