import type { UrlOutcome } from '../queue/batch-job.js';
import type { RequestTracing } from '../shared/telemetry.js';
import { EndpointBreaker } from './endpoint-breaker.js';
import { isAnswer, isLocalError } from './outcome-class.js';

/** How long a failed request proves that its URL is down, in milliseconds. */
const NEWS_LASTS = 60_000;

/** A URL of a destination, as the log and `endpoints$` name it. */
export interface EndpointName {
  /** The destination's id. */
  destination: string;
  /** Hash of the URL, since URLs may carry secrets; the id of a destination that has no URL. */
  url: string;
  /** Origin of the URL; the name of a destination that has no URL. */
  origin: string;
}

/** Details of a request for the log only. The outcome is stored and must not hold them. */
export interface RequestDetails {
  /** Timeout of the request, in milliseconds. */
  timeout: number;
  /** What the application's code threw, if it did. */
  thrown?: { error: unknown };
}

/** Learns what the URLs answer, and which of them go down and come up, in the order of the answers. */
export interface EndpointObserver {
  /** Traces requests. */
  readonly tracing?: RequestTracing | undefined;
  onOutcome(endpoint: EndpointName, outcome: UrlOutcome, details?: RequestDetails): void;
  /** Called once for each request, with its outcome. */
  onRequest?(endpoint: EndpointName, outcome: UrlOutcome): void;
  /** @param failures how many requests have failed in a row */
  onDown(endpoint: EndpointName, failures: number, latest: UrlOutcome): void;
  onUp(endpoint: EndpointName, latest: UrlOutcome): void;
  /** Called when nothing is sent to the URL any more: it was removed, or its destination was deleted or disabled. */
  onGone?(endpoint: EndpointName): void;
}

/** State of a URL, or of anything else that takes messages, as its answers show it: whether it is down. */
export class EndpointState {
  readonly breaker: EndpointBreaker;
  /** The latest request that failed since the URL last answered. */
  private latestFailure: UrlOutcome | undefined;
  private latest: UrlOutcome | undefined;
  private hasFailed: boolean;
  /** Whether the observer was told that the URL is down, and not yet that it is up. */
  private isToldDown: boolean;
  private hasEnded = false;

  /**
   * @param retryWindow milliseconds during which a message is retried
   * @param before state of the same URL under earlier options. If the URL was down, it is probed at once
   */
  constructor(
    private readonly name: EndpointName,
    retryWindow: number,
    private readonly observer?: EndpointObserver,
    before?: EndpointState,
  ) {
    this.hasFailed = before?.hasFailed ?? false;
    this.isToldDown = before?.isToldDown ?? false;
    const told = {
      onDown: (failures: number): void => {
        this.tellDown(failures);
      },
      onUp: (): void => {
        this.tellUp();
      },
    };
    this.breaker = new EndpointBreaker(retryWindow, told, before?.breaker);
  }

  /** Whether the latest request failed. If so, the observer has yet to be told that the URL takes messages again. */
  get isFailing(): boolean {
    return this.hasFailed;
  }

  get isEnded(): boolean {
    return this.hasEnded;
  }

  /**
   * Stops reporting, even the results of requests that are on their way.
   *
   * @param isReplaced another state reports the same URL from now on
   */
  end(isReplaced: boolean): void {
    this.hasEnded = true;
    if (!isReplaced) this.observer?.onGone?.(this.name);
  }

  /**
   * Returns the outcome of another message's request that counts as the last attempt of a message whose window is over:
   * the request showed within the last minute, and after the message's own attempt, that the URL is down.
   *
   * @param own the message's latest outcome here
   * @param firstAttemptAt when the message was first tried or put off, in milliseconds since the epoch
   */
  lastOutcome(own: UrlOutcome | undefined, firstAttemptAt: number, now: number): UrlOutcome | undefined {
    const failure = this.latestFailure;
    if (!this.breaker.isOpen || failure === undefined) return undefined;
    if (own?.class === 'delivered' || failure.at <= (own?.at ?? firstAttemptAt)) return undefined;
    if (now - (failure.at + failure.duration) > NEWS_LASTS) return undefined;
    return { ...failure, attempt: (own?.attempt ?? 0) + 1 };
  }

  /**
   * Records the answer to a request that the breaker has admitted.
   *
   * @param startedAt when the request was admitted, in milliseconds since the epoch
   * @param retryAfter the pause that the receiver asked for, in milliseconds
   */
  record(outcome: UrlOutcome, startedAt: number, details: RequestDetails, retryAfter?: number): void {
    this.latest = outcome;
    this.hasFailed = outcome.class !== 'delivered';
    this.observer?.onRequest?.(this.name, outcome);
    this.report(outcome, details);
    if (outcome.class !== 'retry') {
      this.latestFailure = undefined;
      this.breaker.recordAnswer(Date.now());
      // The breaker may be closed already: an error that is permanent closes it, but does not show that the URL is up.
      this.tellUp();
    } else if (isLocalError(outcome.error)) {
      this.breaker.recordNothing(startedAt);
    } else {
      this.latestFailure = outcome;
      this.breaker.recordFailure(startedAt, Date.now(), retryAfter);
    }
  }

  /** Reports the outcome of one message in a request that had another outcome. */
  report(outcome: UrlOutcome, details?: RequestDetails): void {
    if (!this.hasEnded) this.observer?.onOutcome(this.name, outcome, details);
  }

  private tellDown(failures: number): void {
    if (this.hasEnded || this.isToldDown || this.latest === undefined) return;
    this.isToldDown = true;
    this.observer?.onDown(this.name, failures, this.latest);
  }

  private tellUp(): void {
    if (this.hasEnded || !this.isToldDown || this.latest === undefined || !isAnswer(this.latest)) return;
    this.isToldDown = false;
    this.observer?.onUp(this.name, this.latest);
  }
}
