import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { AnalyticsLogger } from '../shared/analytics-logger.js';
import { thrownAt } from '../shared/thrown-at.js';
import type { OwnRoutes } from './host-routes.js';
import { type HttpAnswer, type StreamedAnswer, writeAnswer, writeStream } from './http-answer.js';
import { OpenExchanges } from './open-exchanges.js';
import { closeAfter, isTooLate, noteRequest } from './request-order.js';
import { RequestRefusal } from './request-refusal.js';
import { UnreadAnswers } from './unread-answers.js';

/** Share of `shutdownTimeout` that requests in flight get. The web server waits for them before anything is closed. */
const ANSWERING_SHARE = 0.8;
/** Milliseconds for a request that comes once `ANSWERING_SHARE` is over: the server may be open for something else. */
const LATE_PATIENCE = 1_000;
/** Milliseconds after which to retry a request that was not answered: another process may take it. */
const CLOSED_RETRY = 1_000;

/** Parts of a request that are known before its body is read. */
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

/** Recognises certain requests to the application's web server, and answers them in the application's place. */
export abstract class HttpHandler<Route = unknown> implements BeforeApplicationShutdown {
  private readonly closing = new AbortController();
  /** Functions that end the wait of each unanswered request with a refusal. */
  private readonly unanswered = new Set<() => void>();
  private readonly unread = new UnreadAnswers();
  private readonly exchanges = new OpenExchanges();
  /** Logged reasons why answers could not be written. */
  private readonly told = new Set<string>();
  private isOver = false;

  /** @param shutdownTimeout in milliseconds */
  constructor(
    private readonly shutdownTimeout: number,
    protected readonly logger: { error(message: string): void } = new AnalyticsLogger(),
  ) {
    // Each stream adds a listener.
    setMaxListeners(0, this.closing.signal);
  }

  /** Routes that this handler answers. */
  abstract readonly routes: OwnRoutes;
  /** Whether pages of any origin may send requests to it, whatever rules the application has for its own routes. */
  abstract readonly isOpenToPages: boolean;
  /** Size of the largest body that it accepts, in bytes. */
  protected abstract readonly maxBytes: number;

  /**
   * Ends streams, makes answers close their connections, refuses requests that stay unanswered, and closes connections
   * of exchanges that clients do not finish. The web server waits for its connections to end, and a client may keep an
   * idle connection open for minutes.
   */
  beforeApplicationShutdown(): void {
    if (this.closing.signal.aborted) return;
    this.closing.abort();
    this.exchanges.close();
    const end = (): void => {
      this.isOver = true;
      this.exchanges.end();
      for (const giveUp of this.unanswered) giveUp();
    };
    setTimeout(end, this.shutdownTimeout * ANSWERING_SHARE).unref();
  }

  /** Returns whether this handler answers a request. All other requests belong to the host. */
  owns(request: RequestLine): boolean {
    return this.routeOf(request) !== undefined;
  }

  /**
   * Answers a request that `owns` recognised and whose body has not been read. Never rejects, whatever the response is
   * and whoever has changed it: nobody awaits this promise, so an error would end the process.
   */
  async answer(raw: IncomingMessage, response: ServerResponse, ip: string | undefined): Promise<void> {
    const route = this.routeOf(raw);
    if (route === undefined) return;
    noteRequest(raw);
    try {
      // The connection closes before this refusal is sent. Until then, it counts as an unread answer.
      const answer = isTooLate(raw)
        ? this.refused(applicationClosed(), route)
        : await this.answerInTime({ route, raw, ip });
      await this.write(raw, response, answer);
    } catch (error) {
      this.notWritten(error);
      breakOff(response);
    }
  }

  private async write(
    raw: IncomingMessage,
    response: ServerResponse,
    answer: HttpAnswer | StreamedAnswer,
  ): Promise<void> {
    if ('parts' in answer) {
      await writeStream(raw, response, answer, this.closing.signal);
      return;
    }
    if (this.closing.signal.aborted) closeAfter(raw, response);
    writeAnswer(raw, response, answer, this.maxBytes);
    this.unread.watch(response);
    this.exchanges.watch(raw, response);
  }

  /** Logs each reason once, because it may be the same for every request. */
  private notWritten(error: unknown): void {
    const thrown = thrownAt(error);
    if (this.told.has(thrown)) return;
    this.told.add(thrown);
    this.logger.error(
      `${this.routes.name} could not write an answer: ${thrown}. Check whether something other than Node serves ` +
        'this application or changes its responses. Further failures of this kind are not logged.',
    );
  }

  /** Resolves to the answer, or to a refusal if time runs out. The work on a refused request may go on. */
  private answerInTime(request: RoutedRequest<Route>): Promise<HttpAnswer | StreamedAnswer> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        resolve(this.refused(applicationClosed(), request.route));
      };
      this.unanswered.add(giveUp);
      if (this.isOver) setTimeout(giveUp, LATE_PATIENCE).unref();
      void this.answerTo(request)
        .then(resolve, reject)
        .finally(() => this.unanswered.delete(giveUp));
    });
  }

  /** Returns the route of a request, or `undefined` if the request belongs to the host. */
  protected abstract routeOf(request: RequestLine): Route | undefined;

  /** Never rejects. */
  protected abstract answerTo(request: RoutedRequest<Route>): Promise<HttpAnswer | StreamedAnswer>;

  protected abstract refused(refusal: RequestRefusal, route: Route): HttpAnswer;
}

/** Ends the response, so that the sender does not wait for more. A response that is fully written is not cut off. */
function breakOff(response: ServerResponse): void {
  try {
    if (!response.writableEnded) response.destroy();
  } catch {
    // A response that cannot even be destroyed is left to whoever made it.
  }
}

function applicationClosed(): RequestRefusal {
  return new RequestRefusal(
    503,
    'ANALYTICS_CLOSED',
    'The application has closed. The request may or may not have taken effect: send it again.',
    CLOSED_RETRY,
    true,
  );
}
