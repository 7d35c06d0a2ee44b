import type {
  AttemptTerms,
  DeliveryResult,
  Destination,
  SettleMessages,
} from '../destinations/destination.js';
import { forwardingId } from '../options/resolve-forwarding.js';
import type { QueuedMessage } from '../queue/batch-job.js';
import { Endpoint, type EndpointAnswer, type EndpointOptions } from '../webhooks/endpoint.js';
import type { EndpointObserver } from '../webhooks/endpoint-state.js';
import type { WebhookClient } from '../webhooks/http/webhook-client.js';
import { FIXED_HEADERS } from '../webhooks/request/webhook-headers.js';

/** The beginning of an answer that lists refused messages, as this module's own API writes it. */
const REFUSED_LIST = '{"success":true,"refused":[';

/** Messages of one request: more than a job ever holds. */
const REQUEST_SIZE = 2_500;

/** Where an `endpoint` is, and how its answers are judged. */
export interface EndpointDestinationOptions extends EndpointOptions {
  /** The URL that batches are posted to. */
  url: URL;
}

/**
 * Forwards the messages of one source to another program's tracking API. The messages of a batch share one
 * request.
 */
export class EndpointDestination implements Destination {
  readonly id: string;
  readonly name = 'Tracking API';
  readonly retryWindow: number;
  readonly requestSize = REQUEST_SIZE;
  readonly origins: readonly string[];
  private readonly endpoint: Endpoint;
  private readonly headers: readonly string[];

  constructor(
    source: { name: string; writeKey: string },
    options: EndpointDestinationOptions,
    client: WebhookClient,
    observer?: EndpointObserver,
  ) {
    this.id = forwardingId(source.name);
    this.retryWindow = options.retryWindow;
    this.endpoint = new Endpoint(this.id, options.url, options, client, observer);
    this.origins = [options.url.origin];
    const credentials = Buffer.from(`${source.writeKey}:`).toString('base64');
    this.headers = [...FIXED_HEADERS, 'Authorization', `Basic ${credentials}`];
  }

  origin(): string {
    return this.endpoint.url.origin;
  }

  heldBack(now: number): number {
    return this.endpoint.breaker.wait(now);
  }

  lastResult({ outcomes }: QueuedMessage, firstAttemptAt: number, now: number): DeliveryResult | undefined {
    const last = this.endpoint.lastOutcome(outcomes[0], firstAttemptAt, now);
    return last && { class: 'retry', outcomes: [last] };
  }

  deliver(
    messages: readonly QueuedMessage[],
    { isLast, signal }: AttemptTerms,
    settle: SettleMessages,
  ): void {
    const { breaker } = this.endpoint;
    const now = Date.now();
    const attempts = messages.flatMap(({ outcomes }) => outcomes.map((outcome) => outcome.attempt));
    if (!breaker.admit(now, isLast)) {
      const wait = breaker.wait(now);
      settle(messages.map(({ outcomes }) => ({ class: 'deferred', outcomes, wait })));
      return;
    }
    const body = batchBody(messages.map((message) => message.body));
    const attempt = Math.max(0, ...attempts) + 1;
    const calls = messages.map(({ call }) => call);
    const request = { headers: [...this.headers], body, signal, readsBody: true, calls };
    this.endpoint.send(request, attempt, (answer) => {
      settle(this.resultsOf(messages.length, answer));
    });
  }

  private resultsOf(count: number, answer: EndpointAnswer | undefined): (DeliveryResult | undefined)[] {
    if (answer === undefined) return new Array<undefined>(count).fill(undefined);
    const { outcome, retryAfter, body, hasEnded } = answer;
    // A rate limit applies to the write key, so it holds back the other batches as well.
    if (retryAfter !== undefined) this.endpoint.breaker.hold(Date.now(), retryAfter);
    const refusals = outcome.class === 'delivered' ? refusalsIn(body?.toString(), hasEnded) : () => undefined;
    const results = Array.from({ length: count }, (_, index): DeliveryResult => {
      const resultClass = refusals(index) ?? outcome.class;
      return {
        class: resultClass,
        outcomes: [{ ...outcome, class: resultClass }],
        ...(retryAfter !== undefined && { retryAfter }),
      };
    });
    for (const { class: resultClass, outcomes } of results) {
      const [refusal] = outcomes;
      if (resultClass === 'permanent' && outcome.class === 'delivered' && refusal !== undefined) {
        this.endpoint.report(refusal);
      }
    }
    return results;
  }
}

/**
 * Returns the body of one request for serialized messages. The body does not contain the time of sending: the batch may
 * have waited for hours, and the receiver would mistake that for a wrong clock.
 */
function batchBody(bodies: readonly string[]): Buffer {
  return Buffer.from(`{"batch":[${bodies.join(',')}]}`);
}

/**
 * Returns a function that tells, by index, what becomes of the messages of a batch that an accepted request refused. A
 * message for a full destination may be taken later.
 *
 * @param text the beginning of the answer. If the list is cut off, all messages from its last complete index onwards
 *   count as refused: a message that is kept in vain can be replayed, a lost message cannot. If any entry is for a full
 *   destination, most are, so these messages are sent again instead.
 * @param hasEnded whether all of the answer came. If it broke off before it was clear whether there is a list, all
 *   messages are sent again: a receiver that has them recognizes them by their messageId.
 */
export function refusalsIn(
  text: string | undefined,
  hasEnded: boolean,
): (index: number) => 'permanent' | 'retry' | undefined {
  if (!hasEnded && REFUSED_LIST.startsWith(text ?? '')) return () => 'retry';
  if (text?.startsWith(REFUSED_LIST) !== true) return () => undefined;
  const read = new Map<number, 'permanent' | 'retry'>();
  let unread: 'permanent' | 'retry' = 'permanent';
  let unreadFrom = 0;
  for (const [, index, code] of text.matchAll(/"index":(\d+),(?:"code":"([A-Z_]+)")?/g)) {
    unreadFrom = Number(index);
    if (code === undefined) break;
    const refusal = code === 'MESSAGE_REFUSED' ? 'retry' : 'permanent';
    if (refusal === 'retry') unread = refusal;
    read.set(unreadFrom++, refusal);
  }
  if (text.endsWith(']}')) unreadFrom = Infinity;
  return (index) => read.get(index) ?? (index >= unreadFrom ? unread : undefined);
}
