import type { AttemptTerms, DeliveryResult, SettleMessages } from '../destinations/destination.js';
import type { QueuedMessage, UrlOutcome } from '../queue/batch-job.js';
import type { Endpoint, EndpointAnswer, EndpointRequest } from './endpoint.js';

/** One message on its way to all URLs of its destination at the same time. */
export class MessageDelivery {
  /** Latest outcome of each URL, in the order of the URLs; `undefined` before the first attempt. */
  private readonly outcomes: (UrlOutcome | undefined)[];
  private isDelivered: boolean;
  private heldBack: Endpoint[] | undefined;
  private unanswered = 0;
  private isRetried = false;
  /** Whether a URL has refused the message for good in this attempt. */
  private isRefused = false;
  private isBrokenOff = false;
  private retryAfter = 0;

  constructor(
    private readonly endpoints: readonly Endpoint[],
    private readonly message: QueuedMessage,
    private readonly settle: SettleMessages,
    private readonly answered?: (origin: string) => void,
  ) {
    const { outcomes } = message;
    // Nearly every message is sent for the first time.
    this.outcomes =
      outcomes.length === 0
        ? new Array<undefined>(endpoints.length).fill(undefined)
        : endpoints.map(({ hash }) => outcomes.find(({ url }) => url === hash));
    this.isDelivered = outcomes.length > 0 && this.outcomes.some((outcome) => outcome?.class === 'delivered');
  }

  /**
   * Sends the message to every URL that still has to be tried and whose breaker admits it.
   *
   * @param prepare makes the bytes, headers and signature: once for all URLs, and not at all if no URL is tried
   */
  begin(
    terms: AttemptTerms,
    prepare: (message: QueuedMessage, signal: AbortSignal) => EndpointRequest,
  ): void {
    const now = Date.now();
    let request: EndpointRequest | undefined;
    // Stays one above the number of open requests until all URLs are tried, since an answer may come at once.
    this.unanswered = 1;
    let index = 0;
    for (const endpoint of this.isDelivered ? [] : this.endpoints) {
      const at = index++;
      const outcome = this.outcomes[at];
      if (!this.isSentTo(endpoint, at, terms, now)) {
        this.answered?.(endpoint.url.origin);
        continue;
      }
      this.unanswered++;
      request ??= prepare(this.message, terms.signal);
      endpoint.send(request, (outcome?.attempt ?? 0) + 1, (answer) => {
        this.record(at, answer);
        if (this.unanswered > 1) this.answered?.(endpoint.url.origin);
        this.leave();
      });
    }
    this.leave();
  }

  /** Returns whether a URL still has to be tried and its breaker admits a request. */
  private isSentTo(endpoint: Endpoint, index: number, terms: AttemptTerms, now: number): boolean {
    if (this.outcomes[index]?.class === 'permanent' || this.isTried(index, endpoint, terms, now))
      return false;
    const isAdmitted = endpoint.breaker.admit(now, terms.isLast);
    if (!isAdmitted) (this.heldBack ??= []).push(endpoint);
    return isAdmitted;
  }

  /** Returns whether a request of another message counts as the last attempt at a URL, and if so keeps its outcome. */
  private isTried(
    index: number,
    endpoint: Endpoint,
    { isLast, firstAttemptAt }: AttemptTerms,
    now: number,
  ): boolean {
    if (!isLast) return false;
    const last = endpoint.lastOutcome(this.outcomes[index], firstAttemptAt, now);
    if (last === undefined) return false;
    this.outcomes[index] = last;
    this.isRetried = true;
    return true;
  }

  private record(index: number, answer: EndpointAnswer | undefined): void {
    if (answer === undefined) {
      this.isBrokenOff = true;
      return;
    }
    const { outcome, retryAfter = 0 } = answer;
    this.outcomes[index] = outcome;
    if (outcome.class === 'delivered') this.isDelivered = true;
    if (outcome.class === 'permanent') this.isRefused = true;
    if (outcome.class !== 'retry') return;
    this.isRetried = true;
    this.retryAfter = Math.max(this.retryAfter, retryAfter);
  }

  private leave(): void {
    if (--this.unanswered === 0) this.settle([this.result()]);
  }

  /**
   * Returns the result. One delivery settles a message. Otherwise a single URL worth another attempt causes a retry.
   */
  private result(): DeliveryResult | undefined {
    const outcomes = this.outcomes.filter((outcome) => outcome !== undefined);
    if (this.isDelivered) return { class: 'delivered', outcomes };
    // If a URL has refused the message, the attempt has to be recorded: otherwise that URL would get the message again.
    if (this.isBrokenOff) return this.isRefused ? { ...this.retry(outcomes), isBrokenOff: true } : undefined;
    if (this.isRetried) return this.retry(outcomes);
    if (this.heldBack === undefined) return { class: 'permanent', outcomes };
    if (this.isRefused) return { class: 'retry', outcomes };
    const now = Date.now();
    const wait = Math.min(...this.heldBack.map(({ breaker }) => breaker.wait(now)));
    return { class: 'deferred', outcomes, wait };
  }

  private retry(outcomes: UrlOutcome[]): DeliveryResult {
    const { retryAfter } = this;
    return retryAfter > 0 ? { class: 'retry', outcomes, retryAfter } : { class: 'retry', outcomes };
  }
}
