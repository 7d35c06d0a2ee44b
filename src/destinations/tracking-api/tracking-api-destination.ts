import type { ResolvedForwarding } from '../../options/resolved-options.js';
import type { DeliveryAttempt, DeliveryResult, Destination, QueuedMessage } from '../destination.js';
import { type Attempted, Endpoint } from '../webhooks/endpoint.js';
import type { WebhookClient } from '../webhooks/webhook-client.js';
import { batchBody } from './forwarded-body.js';
import { isRefused } from './refused-messages.js';

/** Id of the destination that forwards what a source takes. */
export function forwardingId(source: string): string {
  return `endpoint/${source}`;
}

/** Messages that go in one request, each with what waits for its result. */
type Batch = { message: QueuedMessage; settle: (result: DeliveryResult | undefined) => void }[];

/**
 * Forwards the messages of one source to another program's tracking API. Those of one attempt are handed
 * over in one go, and so make one request.
 */
export class TrackingApiDestination implements Destination {
  readonly id: string;
  readonly name = 'Tracking API';
  readonly retryWindow: number;
  private readonly endpoint: Endpoint;
  private readonly headers: readonly string[];
  private readonly open = new WeakMap<DeliveryAttempt, Batch>();

  constructor(
    source: { name: string; writeKey: string },
    options: ResolvedForwarding,
    client: WebhookClient,
  ) {
    this.id = forwardingId(source.name);
    this.retryWindow = options.retryWindow;
    this.endpoint = new Endpoint(options.url, options, client);
    this.headers = [
      'User-Agent',
      'NestAnalytics/1.0',
      'Content-Type',
      'application/json',
      'Accept-Encoding',
      'identity',
      'Authorization',
      `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}`,
    ];
  }

  origin(): string {
    return this.endpoint.url.origin;
  }

  deliver(message: QueuedMessage, attempt: DeliveryAttempt): Promise<DeliveryResult | undefined> {
    return new Promise((settle) => {
      const batch = this.open.get(attempt);
      if (batch !== undefined) {
        batch.push({ message, settle });
        return;
      }
      const opened: Batch = [{ message, settle }];
      this.open.set(attempt, opened);
      queueMicrotask(() => {
        this.open.delete(attempt);
        void this.send(opened, attempt);
      });
    });
  }

  private async send(batch: Batch, { isLast, signal }: DeliveryAttempt): Promise<void> {
    const { breaker } = this.endpoint;
    if (!breaker.admit(Date.now(), isLast)) {
      const wait = breaker.wait(Date.now());
      for (const { message, settle } of batch)
        settle({ class: 'deferred', outcomes: message.outcomes, wait });
      return;
    }
    const body = batchBody(batch.map(({ message }) => message.body));
    const attempts = batch.flatMap(({ message }) => message.outcomes.map(({ attempt }) => attempt));
    const attempted = await this.endpoint.send(
      { headers: [...this.headers], body, signal },
      Math.max(0, ...attempts) + 1,
    );
    settleAll(batch, attempted);
  }
}

function settleAll(batch: Batch, attempted: Attempted | undefined): void {
  if (attempted === undefined) {
    for (const { settle } of batch) settle(undefined);
    return;
  }
  const { outcome, retryAfter } = attempted;
  const refused = outcome.class === 'delivered' ? isRefused(outcome.excerpt) : () => false;
  for (const [index, { settle }] of batch.entries()) {
    const resultClass = refused(index) ? 'permanent' : outcome.class;
    settle({
      class: resultClass,
      outcomes: [{ ...outcome, class: resultClass }],
      ...(retryAfter !== undefined && { retryAfter }),
    });
  }
}
