import type { DeliveryAttempt, QueuedMessage } from '../destination.js';
import type { BatchDelivery, SettleMessage } from './delivery-window.js';
import type { Endpoint, EndpointRequest } from './endpoint.js';
import { MessageDelivery } from './message-delivery.js';

/** How many requests are prepared in a row. */
const PREPARED_AHEAD = 16;

/** Makes the bytes, headers and signature of a message: once for every URL. */
export type PrepareRequest = (
  message: Pick<QueuedMessage, 'id' | 'body'>,
  signal: AbortSignal,
) => EndpointRequest;

/** The messages of a batch on their way to the URLs of a destination. */
export class WebhookBatch implements BatchDelivery {
  private requests: EndpointRequest[] = [];
  /** Index of the message that the first of the requests is for. */
  private firstPrepared = 0;

  constructor(
    readonly messages: readonly QueuedMessage[],
    private readonly attempt: DeliveryAttempt,
    private readonly endpoints: readonly Endpoint[],
    private readonly prepare: PrepareRequest,
  ) {}

  begin(message: QueuedMessage, index: number, settle: SettleMessage): void {
    const delivery = new MessageDelivery(this.endpoints, message, settle);
    delivery.begin(this.attempt.isLast, () => this.requestOf(message, index));
  }

  onSettled(): void {
    this.attempt.onSettled();
  }

  /**
   * The request of a message, prepared together with some that come next: several signatures in a row cost
   * half of what each does between all the rest that a request is.
   */
  private requestOf(message: QueuedMessage, index: number): EndpointRequest {
    const prepared = this.requests[index - this.firstPrepared];
    if (prepared !== undefined) return prepared;
    const { signal } = this.attempt;
    const request = this.prepare(message, signal);
    this.requests = [request];
    this.firstPrepared = index;
    for (const next of this.messages.slice(index + 1, index + PREPARED_AHEAD)) {
      this.requests.push(this.prepare(next, signal));
    }
    return request;
  }
}
