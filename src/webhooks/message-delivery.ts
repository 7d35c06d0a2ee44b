import type { DeliveryResult, QueuedMessage, UrlOutcome } from '../destination.js';
import type { SettleMessage } from './delivery-window.js';
import type { Attempted, Endpoint, EndpointRequest } from './endpoint.js';

/** One message on its way to the URLs of its destination, to all of them at the same time. */
export class MessageDelivery {
  /** The latest of each URL, in their order; `undefined` while there was no attempt. */
  private readonly outcomes: (UrlOutcome | undefined)[];
  private isDelivered: boolean;
  private heldBack: Endpoint[] | undefined;
  private unanswered = 0;
  private isRetried = false;
  private isBrokenOff = false;
  private retryAfter = 0;

  constructor(
    private readonly endpoints: readonly Endpoint[],
    message: QueuedMessage,
    private readonly settle: SettleMessage,
  ) {
    this.outcomes = endpoints.map(({ hash }) => message.outcomes.find(({ url }) => url === hash));
    this.isDelivered = this.outcomes.some((outcome) => outcome?.class === 'delivered');
  }

  /**
   * Sends to every URL that is left and that its breaker admits.
   *
   * @param isLast whether no attempt comes after it
   * @param prepare makes the bytes, headers and signature: once for all URLs, and not where none is asked
   */
  begin(isLast: boolean, prepare: () => EndpointRequest): void {
    const now = Date.now();
    let request: EndpointRequest | undefined;
    // One more than there are, until all are asked: an answer may come at once.
    this.unanswered = 1;
    let index = 0;
    for (const endpoint of this.isDelivered ? [] : this.endpoints) {
      const at = index++;
      const outcome = this.outcomes[at];
      if (outcome?.class === 'permanent') continue;
      if (!endpoint.breaker.admit(now, isLast)) {
        (this.heldBack ??= []).push(endpoint);
        continue;
      }
      this.unanswered++;
      request ??= prepare();
      endpoint.send(request, (outcome?.attempt ?? 0) + 1, (attempted) => {
        this.record(at, attempted);
        this.leave();
      });
    }
    this.leave();
  }

  private record(index: number, attempted: Attempted | undefined): void {
    if (attempted === undefined) {
      this.isBrokenOff = true;
      return;
    }
    const { outcome, retryAfter = 0 } = attempted;
    this.outcomes[index] = outcome;
    if (outcome.class === 'delivered') this.isDelivered = true;
    if (outcome.class !== 'retry') return;
    this.isRetried = true;
    this.retryAfter = Math.max(this.retryAfter, retryAfter);
  }

  private leave(): void {
    if (--this.unanswered === 0) this.settle(this.result());
  }

  /** One success settles a message; while there is none, one URL worth another attempt keeps it going. */
  private result(): DeliveryResult | undefined {
    const outcomes = this.outcomes.filter((outcome) => outcome !== undefined);
    if (this.isDelivered) return { class: 'delivered', outcomes };
    if (this.isBrokenOff) return undefined;
    if (this.isRetried) {
      const { retryAfter } = this;
      return retryAfter > 0 ? { class: 'retry', outcomes, retryAfter } : { class: 'retry', outcomes };
    }
    if (this.heldBack === undefined) return { class: 'permanent', outcomes };
    const now = Date.now();
    const wait = Math.min(...this.heldBack.map(({ breaker }) => breaker.wait(now)));
    return { class: 'deferred', outcomes, wait };
  }
}
