import { AnalyticsClosedError } from '../../errors/analytics-closed.error.js';
import type { ResolvedWebhooks } from '../../options/resolved-options.js';
import type {
  DeliveryAttempt,
  DeliveryResult,
  Destination,
  QueuedMessage,
  UrlOutcome,
} from '../destination.js';
import { Endpoint, type EndpointRequest, type TestResult } from './endpoint.js';
import { type ExplainedRequest, explainRequest } from './explained-request.js';
import { createTestEvent } from './test-event.js';
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

/** Where a message stands with one URL, before and after an attempt. */
interface UrlState {
  endpoint: Endpoint;
  /** The latest, `undefined` while there was no attempt. */
  outcome: UrlOutcome | undefined;
  /** What this attempt did: nothing was left to do, or not now, or it was broken off, or it has an answer. */
  attempt: 'none' | 'heldBack' | 'brokenOff' | 'answered';
  retryAfter: number;
}

/** Delivers messages to up to five URLs by HTTP POST, all at the same time. */
export class WebhooksDestination implements Destination {
  readonly id: string;
  readonly name = WEBHOOKS_NAME;
  readonly retryWindow: number;
  private readonly endpoints: readonly Endpoint[];
  private readonly headers: WebhookHeaders;

  constructor(options: WebhooksDestinationOptions, client: WebhookClient) {
    this.id = options.id;
    this.retryWindow = options.retryWindow;
    this.endpoints = options.urls.map((url) => new Endpoint(url, options, client));
    this.headers = new WebhookHeaders(options.headers, options.sharedSecret, options.standardWebhooks?.keys);
  }

  origin(urlHash: string): string {
    const endpoint = this.endpoints.find(({ hash }) => hash === urlHash);
    return endpoint?.url.origin ?? 'a URL that is no longer configured';
  }

  async deliver(message: QueuedMessage, attempt: DeliveryAttempt): Promise<DeliveryResult | undefined> {
    const states = this.endpoints.map((endpoint): UrlState => {
      const outcome = message.outcomes.find(({ url }) => url === endpoint.hash);
      return { endpoint, outcome, attempt: 'none', retryAfter: 0 };
    });
    if (!states.some(isDelivered)) await this.send(message, states, attempt);
    return resultOf(states);
  }

  /**
   * Sends a test event to each URL at once, outside the queue and past the breakers: a signed `track` named
   * `Test Event` with the property `test: true`, tried once, on a connection of its own.
   *
   * @returns what each URL answered, in the order of the URLs
   * @throws {AnalyticsClosedError} when the application shuts down meanwhile
   */
  async sendTest(): Promise<TestResult[]> {
    const request = this.request(createTestEvent(), new AbortController().signal);
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

  /** Sends to every URL that is left and that its breaker admits. */
  private async send(
    message: QueuedMessage,
    states: UrlState[],
    { isLast, signal }: DeliveryAttempt,
  ): Promise<void> {
    let request: EndpointRequest | undefined;
    const now = Date.now();
    const attempts: Promise<void>[] = [];
    for (const state of states) {
      if (state.outcome?.class === 'permanent') continue;
      if (state.endpoint.breaker.admit(now, isLast)) {
        request ??= this.request(message, signal);
        attempts.push(sendTo(state, request));
      } else {
        state.attempt = 'heldBack';
      }
    }
    await Promise.all(attempts);
  }

  /** Bytes, headers and signature: once for every URL. */
  private request({ id, body: text }: Omit<QueuedMessage, 'outcomes'>, signal: AbortSignal): EndpointRequest {
    const body = Buffer.from(text);
    return { body, headers: this.headers.for(id, body), signal };
  }
}

function isDelivered({ outcome }: UrlState): boolean {
  return outcome?.class === 'delivered';
}

async function sendTo(state: UrlState, request: EndpointRequest): Promise<void> {
  const attempted = await state.endpoint.send(request, (state.outcome?.attempt ?? 0) + 1);
  if (attempted === undefined) {
    state.attempt = 'brokenOff';
    return;
  }
  state.attempt = 'answered';
  state.outcome = attempted.outcome;
  state.retryAfter = attempted.retryAfter ?? 0;
}

/** One success settles a message; while there is none, one URL worth another attempt keeps it going. */
function resultOf(states: readonly UrlState[]): DeliveryResult | undefined {
  const outcomes = states.flatMap(({ outcome }) => outcome ?? []);
  if (states.some(isDelivered)) return { class: 'delivered', outcomes };
  if (states.some(({ attempt }) => attempt === 'brokenOff')) return undefined;
  const retried = states.filter(
    ({ attempt, outcome }) => attempt === 'answered' && outcome?.class === 'retry',
  );
  if (retried.length > 0) {
    const retryAfter = Math.max(...retried.map((state) => state.retryAfter));
    return retryAfter > 0 ? { class: 'retry', outcomes, retryAfter } : { class: 'retry', outcomes };
  }
  const heldBack = states.filter(({ attempt }) => attempt === 'heldBack');
  if (heldBack.length === 0) return { class: 'permanent', outcomes };
  const now = Date.now();
  return {
    class: 'deferred',
    outcomes,
    wait: Math.min(...heldBack.map(({ endpoint }) => endpoint.breaker.wait(now))),
  };
}
