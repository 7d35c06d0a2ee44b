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

/** Forwards the messages of one source to another program's tracking API: those of a batch in one request. */
export class TrackingApiDestination implements Destination {
  readonly id: string;
  readonly name = 'Tracking API';
  readonly retryWindow: number;
  private readonly endpoint: Endpoint;
  private readonly headers: readonly string[];

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

  async deliver(
    messages: readonly QueuedMessage[],
    { isLast, signal, onSettled }: DeliveryAttempt,
  ): Promise<(DeliveryResult | undefined)[]> {
    if (messages.length === 0) return [];
    const { breaker } = this.endpoint;
    if (!breaker.admit(Date.now(), isLast)) {
      const wait = breaker.wait(Date.now());
      return messages.map(({ outcomes }) => ({ class: 'deferred', outcomes, wait }));
    }
    const body = batchBody(messages.map((message) => message.body));
    const attempts = messages.flatMap(({ outcomes }) => outcomes.map(({ attempt }) => attempt));
    const attempted = await new Promise<Attempted | undefined>((settle) => {
      const request = { headers: [...this.headers], body, signal };
      this.endpoint.send(request, Math.max(0, ...attempts) + 1, settle);
    });
    onSettled();
    return resultsOf(messages.length, attempted);
  }
}

function resultsOf(count: number, attempted: Attempted | undefined): (DeliveryResult | undefined)[] {
  if (attempted === undefined) return new Array<undefined>(count).fill(undefined);
  const { outcome, retryAfter } = attempted;
  const refused = outcome.class === 'delivered' ? isRefused(outcome.excerpt) : () => false;
  return Array.from({ length: count }, (_, index) => {
    const resultClass = refused(index) ? 'permanent' : outcome.class;
    return {
      class: resultClass,
      outcomes: [{ ...outcome, class: resultClass }],
      ...(retryAfter !== undefined && { retryAfter }),
    };
  });
}
