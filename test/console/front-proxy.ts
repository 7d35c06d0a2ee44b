import { EventEmitter, on, once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../support/until.js';

/** Answers a request in place of the application, or lets it pass. */
export type Instead = (response: ServerResponse, pass: () => void) => void;

/** Requests that wait at the proxy. */
export interface HeldRequests {
  /** Resolves to the path of the next one that has come. */
  next: () => Promise<string>;
  /** How many wait. */
  count: () => number;
  /** Lets them pass, and all that come after them. */
  release: () => void;
}

/** A proxy in front of an application, which may answer some paths by itself. */
export class FrontProxy {
  /** What answers in place of the application, by a part of the path. */
  private readonly instead = new Map<string, Instead>();
  /** When paths were asked for that it answers itself, on the clock. */
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
        found[1](response, () => {
          this.pass(asked, response);
        });
      }
    });
  }

  /**
   * @param target origin of the application
   * @param base path under which it serves the application, and which it does not pass on
   */
  static async start(target: string, base = ''): Promise<FrontProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FrontProxy(target, base, server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Answers what has this in its path, and forgets what was asked for before. */
  answer(part: string, instead: Instead): void {
    this.instead.set(part, instead);
    this.times.length = 0;
  }

  /** Lets what has this in its path wait. */
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

  /** Leaves all paths to the application. */
  passAll(): void {
    this.instead.clear();
  }

  /** Passes on no more of the answers that are open, and leaves their connections as they are. */
  silence(): void {
    for (const [answer, response] of this.passing) answer.unpipe(response).resume();
  }

  /** Resolves to the milliseconds between requests for what it answers, once there were so many of them. */
  async pauses(count: number): Promise<number[]> {
    const times = await until(() => (this.times.length > count ? this.times : undefined));
    return times.slice(1).map((time, index) => time - (times[index] ?? 0));
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private pass(asked: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url = '' } = asked;
    if (!url.startsWith(`${this.base}/`)) {
      response.writeHead(404).end();
      return;
    }
    const passed = request(
      new URL(url.slice(this.base.length), this.target),
      { method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        this.passing.set(answer, response);
        // One side has gone, as at the end of a test.
        answer.on('error', () => response.destroy()).once('close', () => this.passing.delete(answer));
      },
    );
    passed.on('error', () => response.destroy());
    response.once('close', () => passed.destroy());
    asked.pipe(passed);
  }
}
