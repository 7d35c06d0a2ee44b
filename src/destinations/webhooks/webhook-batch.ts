import type { DeliveryAttempt, QueuedMessage } from '../destination.js';
import type { BatchDelivery, SettleMessage } from './delivery-window.js';
import type { Endpoint, EndpointRequest } from './endpoint.js';
import { MessageDelivery } from './message-delivery.js';

/** Makes the bytes, headers and signature of a message: once for every URL. */
export type PrepareRequest = (
  message: Pick<QueuedMessage, 'id' | 'body'>,
  signal: AbortSignal,
) => EndpointRequest;

/** The messages of a batch on their way to the URLs of a destination. */
export class WebhookBatch implements BatchDelivery {
  constructor(
    readonly messages: readonly QueuedMessage[],
    private readonly attempt: DeliveryAttempt,
    private readonly endpoints: readonly Endpoint[],
    private readonly prepare: PrepareRequest,
  ) {}

  begin(message: QueuedMessage, settle: SettleMessage): void {
    const { isLast, signal } = this.attempt;
    const delivery = new MessageDelivery(this.endpoints, message, settle);
    delivery.begin(isLast, () => this.prepare(message, signal));
  }

  onSettled(): void {
    this.attempt.onSettled();
  }
}
