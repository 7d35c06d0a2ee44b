import type {
  AttemptTerms,
  DeliveryResult,
  Destination,
  SettleMessages,
} from '../destinations/destination.js';
import { AnalyticsClosedError } from '../errors/message.errors.js';
import type { QueuedMessage, UrlOutcome } from '../queue/batch-job.js';
import type { CallTrace } from '../shared/telemetry.js';
import { type ExplainedRequest, explainRequest } from './diagnostics/explained-request.js';
import { createTestEvent } from './diagnostics/test-event.js';
import { Endpoint, type EndpointOptions, type EndpointRequest, type TestResult } from './endpoint.js';
import type { EndpointObserver } from './endpoint-state.js';
import type { WebhookClient } from './http/webhook-client.js';
import { MessageDelivery } from './message-delivery.js';
import type { HmacKey } from '../signing/hmac-key.js';
import { WebhookHeaders } from './request/webhook-headers.js';
import { hashUrl } from '../options/webhook-url.js';
import { WEBHOOKS_NAME } from './webhooks.tokens.js';

/** Shared by all messages of an application that measures nothing. */
const NO_CALLS: readonly (CallTrace | undefined)[] = [undefined];

/** The parts of a webhooks destination. Its rules have been checked. */
export interface WebhooksDestinationOptions extends EndpointOptions {
  id: string;
  urls: readonly URL[];
  /** Requests a second, over all processes. */
  rateLimit?: number | undefined;
  /** The static headers, as the customer wrote them. */
  headers: Readonly<Record<string, string>>;
  sharedSecret: string | undefined;
  /** The keys of the Standard Webhooks secrets. */
  standardWebhooks?: { keys: readonly HmacKey[] } | undefined;
}

/** Delivers messages to up to five URLs by HTTP POST, all at the same time. */
export class WebhooksDestination implements Destination {
  readonly id: string;
  readonly name = WEBHOOKS_NAME;
  readonly requestSize = 1;
  private endpoints: readonly Endpoint[];
  private headers: WebhookHeaders;
  private urlOrigins: readonly string[];
  private hasEnded = false;

  constructor(
    private options: WebhooksDestinationOptions,
    private readonly client: WebhookClient,
    private readonly observer?: EndpointObserver,
  ) {
    this.id = options.id;
    this.endpoints = options.urls.map((url) => this.endpointOf(url, options));
    this.urlOrigins = options.urls.map(({ origin }) => origin);
    this.headers = headersOf(options);
  }

  get retryWindow(): number {
    return this.options.retryWindow;
  }

  get rateLimit(): number | undefined {
    return this.options.rateLimit;
  }

  get origins(): readonly string[] {
    return this.urlOrigins;
  }

  /** Whether the latest request to one of its URLs failed. */
  get isFailing(): boolean {
    return this.endpoints.some((endpoint) => endpoint.isFailing);
  }

  /**
   * Applies other options from the next request on. A URL that stays keeps its known state if requests to it stay the
   * same. Changed requests may be answered differently, so a URL that is down is then tried at once.
   */
  change(options: WebhooksDestinationOptions): void {
    const headers = headersOf(options);
    const isAlike = judgeAlike(options, this.options) && headers.isLike(this.headers);
    const before = this.endpoints;
    this.endpoints = options.urls.map((url) => {
      const urlHash = hashUrl(url);
      const known = before.find(({ hash }) => hash === urlHash);
      return isAlike && known !== undefined ? known : this.endpointOf(url, options, known);
    });
    for (const endpoint of before) {
      if (this.endpoints.includes(endpoint)) continue;
      endpoint.end(this.endpoints.some(({ hash }) => hash === endpoint.hash));
    }
    this.urlOrigins = options.urls.map(({ origin }) => origin);
    this.headers = headers;
    this.options = options;
  }

  /** Stops signing with replaced secrets. This corrects nothing at the receivers, so the URLs keep their state. */
  endSecrets(options: WebhooksDestinationOptions): void {
    this.headers = headersOf(options);
    this.options = options;
  }

  /** Ends the destination. Nothing more is reported about its URLs, not even the results of requests on their way. */
  end(): void {
    this.hasEnded = true;
    for (const endpoint of this.endpoints) endpoint.end(false);
  }

  origin(urlHash: string): string | undefined {
    return this.endpoints.find(({ hash, isEnded }) => hash === urlHash && !isEnded)?.url.origin;
  }

  heldBack(now: number, refusedBy: readonly string[]): number {
    // A destination that has ended holds nothing back, so its waiting messages go where they belong now: it may be
    // enabled again, and its URLs may take messages.
    if (this.hasEnded) return 0;
    let least = Infinity;
    for (const { hash, breaker } of this.endpoints) {
      if (refusedBy.includes(hash)) continue;
      const wait = breaker.wait(now);
      if (wait === 0) return 0;
      if (wait < least) least = wait;
    }
    return least === Infinity ? 0 : least;
  }

  lastResult(message: QueuedMessage, firstAttemptAt: number, now: number): DeliveryResult | undefined {
    const outcomes: UrlOutcome[] = [];
    for (const endpoint of this.endpoints) {
      const own = message.outcomes.find(({ url }) => url === endpoint.hash);
      const last = own?.class === 'permanent' ? own : endpoint.lastOutcome(own, firstAttemptAt, now);
      if (last === undefined) return undefined;
      outcomes.push(last);
    }
    const isRetried = outcomes.some((outcome) => outcome.class === 'retry');
    return { class: isRetried ? 'retry' : 'permanent', outcomes };
  }

  deliver(
    messages: readonly QueuedMessage[],
    terms: AttemptTerms,
    settle: SettleMessages,
    answered?: (origin: string) => void,
  ): void {
    const message = messages[0];
    if (message === undefined) {
      settle([]);
      return;
    }
    new MessageDelivery(this.endpoints, message, settle, answered).begin(terms, this.prepare);
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
   * Returns what would be sent to each URL now, and sends nothing. The result contains the URLs, the static
   * headers and the signatures in full, but no signing secret.
   */
  explain(message: { messageId: string; body: string }): ExplainedRequest[] {
    const body = Buffer.from(message.body);
    const headers = this.headers.for(message.messageId, body);
    const now = Date.now();
    return this.endpoints.map(({ url }) => explainRequest(url, headers, body, now));
  }

  private endpointOf(url: URL, options: EndpointOptions, before?: Endpoint): Endpoint {
    return new Endpoint(this.id, url, options, this.client, this.observer, before);
  }

  /** Makes the bytes, headers and signature of a message: once for every URL. */
  private readonly prepare = (
    { id, body: text, call }: Pick<QueuedMessage, 'id' | 'body' | 'call'>,
    signal: AbortSignal,
  ): EndpointRequest => {
    const body = Buffer.from(text);
    return {
      body,
      headers: this.headers.for(id, body),
      signal,
      calls: call === undefined ? NO_CALLS : [call],
    };
  };
}

function headersOf({ headers, sharedSecret, standardWebhooks }: WebhooksDestinationOptions): WebhookHeaders {
  return new WebhookHeaders(headers, sharedSecret, standardWebhooks?.keys);
}

/** Returns whether two sets of options give a URL the same times and judge its answers in the same way. */
function judgeAlike(one: EndpointOptions, other: EndpointOptions): boolean {
  return (
    one.timeout === other.timeout &&
    one.retryWindow === other.retryWindow &&
    one.retryStatuses.join() === other.retryStatuses.join()
  );
}
