import type { AnalyticsClient } from '../client/analytics-client.js';
import { FlushGroup } from '../client/taken-message.js';
import { AnalyticsClosedError } from '../errors/analytics-closed.error.js';
import { AnalyticsError } from '../errors/analytics.error.js';
import type { JsonObject } from '../messages/message.types.js';
import { basicKey, otherKey } from './credentials.js';
import type { RateLimiter } from './rate-limiter.js';
import { type ReceivedRequest, readRequest } from './received-request.js';
import { receivedMessage } from './received-message.js';
import { readBody } from './request-body.js';
import { RequestRefusal } from './request-refusal.js';
import { acceptedAnswer, type RefusedMessage, type TrackingAnswer } from './tracking-answer.js';
import type { TrackingRequest } from './tracking-request.js';
import type { WriteKeys } from './write-keys.js';

/** How long a request waits for the queue, in milliseconds: less than clients wait for their answer. */
const QUEUE_PATIENCE = 5_000;
/** When it is worth sending again what the queue could not take, in milliseconds. */
const QUEUE_RETRY = 5_000;

/** The door for other programs: takes what they send, and answers once it is in the queue. */
export class TrackingApi {
  /** Messages that the queue has not taken in time: until it has them, it is not given more. */
  private overdue: FlushGroup | undefined;

  constructor(
    private readonly client: AnalyticsClient,
    private readonly keys: WriteKeys,
    private readonly limiter: RateLimiter,
  ) {}

  /** @throws {RequestRefusal} */
  async handle({ route, raw, ip }: TrackingRequest): Promise<TrackingAnswer> {
    if (route.kind === 'metrics') return acceptedAnswer();
    const receivedAt = Date.now();
    const { authorization } = raw.headers;
    const key = basicKey(authorization);
    // Whoever has no key is not listened to, where that can be told before.
    if (key !== undefined) this.sourceOf(key);
    if (this.overdue !== undefined) throw queueUnavailable();
    const body = await readBody(raw);
    const source = this.sourceOf(key ?? otherKey(body, authorization));
    this.refuseIfLimited(source);
    const request = readRequest(route, body, { receivedAt, ip });
    this.limiter.count(source, request.messages.length, receivedAt);
    return this.take(source, request);
  }

  private sourceOf(key: string | undefined): string {
    const source = key === undefined ? undefined : this.keys.sourceOf(key);
    if (source !== undefined) return source;
    throw new RequestRefusal(
      401,
      'UNKNOWN_WRITE_KEY',
      key === undefined
        ? 'There is no write key: send it as the user name of Basic authentication, or as `writeKey` in the body.'
        : 'The write key is unknown: use that of a source of this application.',
    );
  }

  private refuseIfLimited(source: string): void {
    const wait = this.limiter.wait(source, Date.now());
    if (wait > 0) {
      throw new RequestRefusal(
        429,
        'RATE_LIMITED',
        'This write key sends more than it may: send less often.',
        wait,
      );
    }
  }

  private async take(source: string, request: ReceivedRequest): Promise<TrackingAnswer> {
    const group = new FlushGroup();
    const refused: RefusedMessage[] = [];
    for (const [index, value] of request.messages.entries()) {
      const error = this.takeOne(source, () => receivedMessage(value, request.envelope), group);
      if (error === undefined) continue;
      if (request.isSingle) throw singleRefusal(error);
      refused.push({ index, code: error.code, message: error.message });
    }
    if (!(await this.client.handOver(group, QUEUE_PATIENCE))) {
      this.hold(group);
      throw queueUnavailable();
    }
    return acceptedAnswer(refused);
  }

  /** Returns what is wrong with the message itself. */
  private takeOne(source: string, read: () => JsonObject, group: FlushGroup): AnalyticsError | undefined {
    try {
      if (!this.client.takeReceived(source, read(), group)) throw queueUnavailable();
      return undefined;
    } catch (error) {
      if (error instanceof AnalyticsClosedError) throw queueUnavailable();
      if (error instanceof AnalyticsError) return error;
      throw error;
    }
  }

  /** Takes nothing more until the queue has these. */
  private hold(group: FlushGroup): void {
    if (this.overdue !== undefined) return;
    this.overdue = group;
    void group.drained().then(() => {
      this.overdue = undefined;
    });
  }
}

function queueUnavailable(): RequestRefusal {
  return new RequestRefusal(
    503,
    'QUEUE_UNAVAILABLE',
    'The queue cannot take more now: send this again later.',
    QUEUE_RETRY,
  );
}

function singleRefusal(error: AnalyticsError): RequestRefusal {
  return new RequestRefusal(400, error.code, error.message);
}
