import type { UrlOutcome } from '../destination.js';
import { EndpointBreaker } from './endpoint-breaker.js';
import { classOfError, classOfStatus } from './outcome-class.js';
import type { RequestHeaders } from './request-headers.js';
import { requestTarget, type RequestTarget } from './request-target.js';
import type { RequestPhases } from './request-phases.js';
import { excerptOf } from './response-excerpt.js';
import { parseRetryAfter } from './retry-after.js';
import type { WebhookClient } from './webhook-client.js';
import { webhookErrorCode } from './webhook-error-code.js';
import type { WebhookResponse } from './webhook-request.types.js';
import { hashUrl } from './webhook-url.js';

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
}

/** An attempt that came to something. */
export interface Attempted {
  outcome: UrlOutcome;
  retryAfter: number | undefined;
}

/** What one URL answered to a test event, at the one attempt that there was. */
export interface TestResult extends UrlOutcome {
  /** The origin of the URL; the rest of it may hold a secret. */
  origin: string;
  /** How long each part of it took. */
  phases: RequestPhases;
}

/** One URL of a destination: sends to it, judges its answers, and leaves it alone while it is down. */
export class Endpoint {
  readonly hash: string;
  readonly breaker: EndpointBreaker;
  private readonly target: RequestTarget;

  constructor(
    readonly url: URL,
    private readonly options: EndpointOptions,
    private readonly client: WebhookClient,
  ) {
    this.hash = hashUrl(url);
    this.target = requestTarget(url);
    this.breaker = new EndpointBreaker(options.retryWindow);
  }

  /**
   * Sends one message, which the breaker has admitted.
   *
   * @param attempt counts from 1
   * @param settle called once; with `undefined` when the signal ended it
   */
  send(request: EndpointRequest, attempt: number, settle: (attempted: Attempted | undefined) => void): void {
    const startedAt = Date.now();
    const { headers, body, signal } = request;
    const { timeout } = this.options;
    this.client.post({ target: this.target, headers, body, timeout, signal }, (response) => {
      settle(this.record(response, attempt, startedAt));
    });
  }

  /**
   * Sends a message whatever the breaker knows, and teaches it nothing: a test must neither be held back nor
   * set off what real messages did not. `undefined` when the signal or the client's end ended it.
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

  private record(
    response: WebhookResponse | undefined,
    attempt: number,
    startedAt: number,
  ): Attempted | undefined {
    if (response === undefined) {
      this.breaker.recordNothing(startedAt);
      return undefined;
    }
    const attempted = this.judge(response, attempt);
    const now = Date.now();
    if (attempted.outcome.class === 'retry') this.breaker.recordFailure(startedAt, now, attempted.retryAfter);
    else this.breaker.recordAnswer(now);
    return attempted;
  }

  private judge(response: WebhookResponse, attempt: number): Attempted {
    const { at, duration } = response;
    const url = this.hash;
    if (response.error !== undefined) {
      const error = webhookErrorCode(response.error);
      return {
        outcome: { url, class: classOfError(error), error, attempt, at, duration },
        retryAfter: undefined,
      };
    }
    const { status } = response;
    // Built without spreads: they cost more than all else here, and this runs for every request.
    const outcome: UrlOutcome = {
      url,
      class: classOfStatus(status, this.options.retryStatuses),
      status,
      attempt,
      at,
      duration,
    };
    if (response.body.length > 0) outcome.excerpt = excerptOf(response.body);
    const isRetried = outcome.class === 'retry';
    return { outcome, retryAfter: isRetried ? parseRetryAfter(response.retryAfter, Date.now()) : undefined };
  }
}
