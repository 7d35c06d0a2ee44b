import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import type { OwnRoutes } from './host-routes.js';
import { type HttpAnswer, type StreamedAnswer, writeAnswer, writeStream } from './http-answer.js';

/** What is known of a request before it is read. */
export interface RequestLine {
  method?: string | undefined;
  /** Path and query. */
  url?: string | undefined;
}

/** A request as the host's framework passes it on. */
export interface RoutedRequest<Route> {
  route: Route;
  /** Its body has not been read. */
  raw: IncomingMessage;
  /** The sender's address, as the framework knows it behind its trusted proxies. */
  ip: string | undefined;
}

/** Recognises some requests to the application's web server, and answers them in its place. */
export abstract class HttpHandler<Route = unknown> implements BeforeApplicationShutdown {
  private readonly closing = new AbortController();

  constructor() {
    // Each stream listens to it.
    setMaxListeners(0, this.closing.signal);
  }

  /** Where it answers. */
  abstract readonly routes: OwnRoutes;
  /** Whether pages of any origin may send to it, whatever the application's rules are for its own routes. */
  abstract readonly isOpenToPages: boolean;
  /** The largest body that it takes. */
  protected abstract readonly maxBytes: number;

  /** The web server waits for its connections to end, and a client may keep an idle one for minutes. */
  beforeApplicationShutdown(): void {
    this.closing.abort();
  }

  /** Whether it answers a request. All others belong to the host. */
  owns(request: RequestLine): boolean {
    return this.routeOf(request) !== undefined;
  }

  /** Answers a request that `owns` recognised and whose body has not been read. Never rejects. */
  async answer(raw: IncomingMessage, response: ServerResponse, ip: string | undefined): Promise<void> {
    const route = this.routeOf(raw);
    if (route === undefined) return;
    const answer = await this.answerTo({ route, raw, ip });
    if ('parts' in answer) {
      await writeStream(raw, response, answer, this.closing.signal);
      return;
    }
    if (this.closing.signal.aborted) response.shouldKeepAlive = false;
    writeAnswer(raw, response, answer, this.maxBytes);
  }

  /** What a request is for; `undefined` if it belongs to the host. */
  protected abstract routeOf(request: RequestLine): Route | undefined;

  /** Never rejects. */
  protected abstract answerTo(request: RoutedRequest<Route>): Promise<HttpAnswer | StreamedAnswer>;
}
