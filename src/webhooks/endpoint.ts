import type { UrlOutcome } from '../queue/batch-job.js';
import { excerptOf } from '../shared/excerpt.js';
import type { CallTrace } from '../shared/telemetry.js';
import type { RequestPhases } from './diagnostics/request-phases.js';
import type { EndpointBreaker } from './endpoint-breaker.js';
import { type EndpointObserver, EndpointState } from './endpoint-state.js';
import { hashUrl } from '../options/webhook-url.js';
import type { WebhookClient } from './http/webhook-client.js';
import { webhookErrorCode } from './http/webhook-error-code.js';
import {
  requestTarget,
  type RequestHeaders,
  type RequestTarget,
  withTraceparent,
} from './http/webhook-request.js';
import { parseRetryAfter, type WebhookResponse } from './http/webhook-response.js';
import { classOfError, classOfStatus } from './outcome-class.js';

/** How requests to an endpoint are made and judged. */
export interface EndpointOptions {
  timeout: number;
  retryWindow: number;
  retryStatuses: readonly (number | '5xx')[];
}

/** What is sent to every URL of a destination. */
export interface EndpointRequest {
  headers: RequestHeaders;
  body: Buffer;
  signal: AbortSignal;
  /** See `WebhookRequest`. */
  readsBody?: boolean;
  /** Traces of the calls that made the messages. */
  calls: readonly (CallTrace | undefined)[];
}

/** The answer of a URL to one request. */
export interface EndpointAnswer {
  outcome: UrlOutcome;
  retryAfter: number | undefined;
  /** Beginning of the response's body. */
  body: Buffer | undefined;
  /** Whether the whole response arrived. */
  hasEnded: boolean;
}

/** The answer of one URL to a test event, which is tried once. */
export interface TestResult extends UrlOutcome {
  /** The origin of the URL; the rest of it may hold a secret. */
  origin: string;
  /**
   * Duration of each phase, in milliseconds. The phases follow one another. A phase that did not take place or did not
   * end is absent.
   */
  phases: RequestPhases;
}

/** One URL of a destination: sends to it, judges its answers, and pauses while it is down. */
export class Endpoint {
  readonly hash: string;
  private readonly state: EndpointState;
  private readonly target: RequestTarget;

  /**
   * @param destination the destination's id
   * @param before endpoint of the same URL under earlier options
   */
  constructor(
    private readonly destination: string,
    readonly url: URL,
    private readonly options: EndpointOptions,
    private readonly client: WebhookClient,
    private readonly observer?: EndpointObserver,
    before?: Endpoint,
  ) {
    this.hash = hashUrl(url);
    this.target = requestTarget(url);
    const name = { destination, url: this.hash, origin: url.origin };
    this.state = new EndpointState(name, options.retryWindow, observer, before?.state);
  }

  get breaker(): EndpointBreaker {
    return this.state.breaker;
  }

  /** This and the next three members are those of `EndpointState`. */
  get isFailing(): boolean {
    return this.state.isFailing;
  }

  get isEnded(): boolean {
    return this.state.isEnded;
  }

  end(isReplaced: boolean): void {
    this.state.end(isReplaced);
  }

  lastOutcome(...args: Parameters<EndpointState['lastOutcome']>): UrlOutcome | undefined {
    return this.state.lastOutcome(...args);
  }

  /**
   * Sends one message, which the breaker has admitted.
   *
   * @param attempt counts from 1
   * @param settle called once; with `undefined` if the signal ended the request
   */
  send(
    request: EndpointRequest,
    attempt: number,
    settle: (answer: EndpointAnswer | undefined) => void,
  ): void {
    const startedAt = Date.now();
    const { headers: given, body, signal, readsBody = false, calls } = request;
    const { timeout } = this.options;
    const { destination } = this;
    const span = this.observer?.tracing?.begin({ destination, url: this.url, attempt, calls });
    const headers = span?.traceparent === undefined ? given : withTraceparent(given, span.traceparent);
    this.client.post({ target: this.target, headers, body, timeout, signal, readsBody }, (response) => {
      const answer = this.record(response, attempt, startedAt);
      span?.end(answer?.outcome);
      settle(answer);
    });
  }

  /**
   * Sends a message whatever the breaker's state, and does not change that state: a test must neither be held back nor
   * cancel out the results of real messages. Resolves to `undefined` if the signal or the client's `close()` ended the
   * request.
   */
  async test(request: EndpointRequest): Promise<TestResult | undefined> {
    const response = await this.client.trace({
      ...request,
      target: this.target,
      timeout: this.options.timeout,
    });
    if (response === undefined) return undefined;
    return { ...this.judge(response, 1).outcome, origin: this.url.origin, phases: response.phases };
  }

  /** Reports the outcome of one message in a request that the URL took. */
  report(outcome: UrlOutcome): void {
    this.state.report(outcome);
  }

  private record(
    response: WebhookResponse | undefined,
    attempt: number,
    startedAt: number,
  ): EndpointAnswer | undefined {
    if (response === undefined) {
      this.breaker.recordNothing(startedAt);
      return undefined;
    }
    const answer = this.judge(response, attempt);
    this.state.record(answer.outcome, startedAt, this.options, answer.retryAfter);
    return answer;
  }

  private judge(response: WebhookResponse, attempt: number): EndpointAnswer {
    const { at, duration } = response;
    const url = this.hash;
    if (response.error !== undefined) {
      const error = webhookErrorCode(response.error);
      return {
        outcome: { url, class: classOfError(error), error, attempt, at, duration },
        retryAfter: undefined,
        body: undefined,
        hasEnded: false,
      };
    }
    const { status, body, hasEnded } = response;
    // Built without spreads: they cost more than everything else here, and this runs for every request.
    const outcome: UrlOutcome = {
      url,
      class: classOfStatus(status, this.options.retryStatuses),
      status,
      attempt,
      at,
      duration,
    };
    if (body.length > 0) outcome.excerpt = excerptOf(body);
    const isRetried = outcome.class === 'retry';
    const retryAfter = isRetried ? parseRetryAfter(response.retryAfter, Date.now()) : undefined;
    return { outcome, retryAfter, body, hasEnded };
  }
}
