import { AnalyticsClosedError } from '../../errors/analytics-closed.error.js';
import type { ResolvedWebhooks } from '../../options/resolved-options.js';
import type { DeliveryAttempt, DeliveryResult, Destination, QueuedMessage } from '../destination.js';
import { DeliveryWindow } from './delivery-window.js';
import { Endpoint, type TestResult } from './endpoint.js';
import { type ExplainedRequest, explainRequest } from './explained-request.js';
import { createTestEvent } from './test-event.js';
import { type PrepareRequest, WebhookBatch } from './webhook-batch.js';
import type { WebhookClient } from './webhook-client.js';
import { WebhookHeaders } from './webhook-headers.js';

/** The name that `integrations` knows every webhooks destination by. */
export const WEBHOOKS_NAME = 'Webhooks';

/** What the destination needs to know of its options. */
export type WebhooksDestinationOptions = Pick<
  ResolvedWebhooks,
  'id' | 'urls' | 'headers' | 'sharedSecret' | 'timeout' | 'retryWindow' | 'retryStatuses'
> &
  Partial<Pick<ResolvedWebhooks, 'standardWebhooks'>>;

/** Delivers messages to up to five URLs by HTTP POST, all at the same time. */
export class WebhooksDestination implements Destination {
  readonly id: string;
  readonly name = WEBHOOKS_NAME;
  readonly retryWindow: number;
  private readonly endpoints: readonly Endpoint[];
  private readonly headers: WebhookHeaders;
  private readonly window: DeliveryWindow;

  constructor(options: WebhooksDestinationOptions, client: WebhookClient) {
    this.id = options.id;
    this.retryWindow = options.retryWindow;
    this.endpoints = options.urls.map((url) => new Endpoint(url, options, client));
    this.headers = new WebhookHeaders(options.headers, options.sharedSecret, options.standardWebhooks?.keys);
    this.window = new DeliveryWindow(client.connections);
  }

  origin(urlHash: string): string {
    const endpoint = this.endpoints.find(({ hash }) => hash === urlHash);
    return endpoint?.url.origin ?? 'a URL that is no longer configured';
  }

  deliver(
    messages: readonly QueuedMessage[],
    attempt: DeliveryAttempt,
  ): Promise<(DeliveryResult | undefined)[]> {
    return this.window.deliver(new WebhookBatch(messages, attempt, this.endpoints, this.prepare));
  }

  /**
   * Sends a test event to each URL at once, outside the queue and past the breakers: a signed `track` named
   * `Test Event` with the property `test: true`, tried once, on a connection of its own.
   *
   * @returns what each URL answered, in the order of the URLs
   * @throws {AnalyticsClosedError} when the application shuts down meanwhile
   */
  async sendTest(): Promise<TestResult[]> {
    const request = this.prepare(createTestEvent(), new AbortController().signal);
    const results = await Promise.all(this.endpoints.map((endpoint) => endpoint.test(request)));
    return results.map((result) => {
      if (result === undefined) throw new AnalyticsClosedError();
      return result;
    });
  }

  /**
   * Tells what would be sent to each URL if it were sent now, and sends nothing. That holds the URLs, the
   * static headers and the signatures in full, but no secret that signs.
   */
  explain(message: { messageId: string; body: string }): ExplainedRequest[] {
    const body = Buffer.from(message.body);
    const headers = this.headers.for(message.messageId, body);
    const now = Date.now();
    return this.endpoints.map(({ url }) => explainRequest(url, headers, body, now));
  }

  private readonly prepare: PrepareRequest = ({ id, body: text }, signal) => {
    const body = Buffer.from(text);
    return { body, headers: this.headers.for(id, body), signal };
  };
}
