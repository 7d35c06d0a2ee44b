import { InvalidMessageError } from '../../errors/message.errors.js';
import { BodyReader, type RequestBody } from '../../http/body-reader.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import type { RoutedRequest } from '../../http/http-handler.js';
import { RequestRefusal } from '../../http/request-refusal.js';
import { MAX_BATCH_BYTES } from '../../messages/serialize.js';
import type { FailedMessageLog } from './failed-message-log.js';
import {
  type IncomingMessage,
  type IncomingRequest,
  type Intake,
  queueUnavailable,
  refusedForNow,
} from './intake.js';
import { KeyedReading, refuseIfLimited } from './keyed-reading.js';
import { restoreIds } from './message-ids.js';
import type { RateLimiter, RequestSize } from './rate-limiter.js';
import { receivedMessage, uncountedBytes } from './received-message.js';
import { type ReceivedRequest, readRequest } from './received-request.js';
import type { ReturnedDeliveries } from './returned-deliveries.js';
import { acceptedAnswer, type RefusedMessage } from './tracking-answer.js';
import type { TrackingRoute } from './tracking-routes.js';
import type { UnknownKeyLog } from './unknown-key-log.js';
import { WastedInflation } from './wasted-inflation.js';
import { basicKey, otherKey, type WriteKeys } from './write-keys.js';

type RawRequest = RoutedRequest<TrackingRoute>['raw'];

export interface TrackingApiParts {
  intake: Intake;
  keys: WriteKeys;
  limiter: RateLimiter;
  unknownKeys: UnknownKeyLog;
  returned: ReturnedDeliveries;
  failures: FailedMessageLog;
}

/** A request that has been counted, and the source that it is for. */
interface CountedRequest {
  request: ReceivedRequest;
  source: string;
}

/** Reason that the sender gets for a message that failed on this side. */
const FAILED = {
  code: 'INTERNAL_ERROR',
  message: 'The server failed to process the message and did not take it.',
};

/** Takes messages that other programs send, and answers once they are in the queue. */
export class TrackingApi {
  private readonly bodies = new BodyReader({ maxBytes: MAX_BATCH_BYTES });
  private readonly wasted = new WastedInflation();

  constructor(private readonly parts: TrackingApiParts) {}

  /** @throws {RequestRefusal} */
  async handle({ route, raw, ip }: RoutedRequest<TrackingRoute>): Promise<HttpAnswer> {
    this.parts.returned.refuse(raw.headers);
    if (route.kind === 'metrics') return acceptedAnswer();
    const receivedAt = Date.now();
    const { authorization } = raw.headers;
    const key = basicKey(authorization);
    // Requests that the header rules out are refused before the body is read, which costs the most.
    const known = key === undefined ? undefined : this.sourceOf(key);
    if (known !== undefined) refuseIfLimited(this.parts.limiter, known);
    const { intake } = this.parts;
    if (!(known === undefined ? intake.isOpen : intake.isOpenTo(known))) throw queueUnavailable();
    const { request, source } = await this.read(raw, known, (body) => {
      restoreIds(body.text, body.fields);
      return readRequest(route, body, { receivedAt, ip });
    });
    const incoming = intake.begin(source, request.size.bytes);
    // Nothing that waits for the queue may hold the body: it takes far more memory than the messages taken from it.
    return answerWhenQueued(incoming, this.take(incoming, source, request), request.isSingle);
  }

  /** Called when the application has closed. */
  close(): void {
    this.parts.unknownKeys.close();
    this.parts.returned.close();
  }

  private sourceOf(key: string | undefined): string {
    const source = key === undefined ? undefined : this.parts.keys.sourceOf(key);
    if (source !== undefined) return source;
    this.parts.unknownKeys.add(key);
    throw new RequestRefusal(
      401,
      'UNKNOWN_WRITE_KEY',
      key === undefined
        ? 'There is no write key: send it as the user name of Basic authentication, or as `writeKey` in the body.'
        : "The write key is unknown: use the write key of one of this application's sources.",
    );
  }

  /**
   * Reads and counts a request.
   *
   * @param known source whose key is in the header; `undefined` if the body has to contain the key, unless a Bearer
   *   header does
   */
  private async read(
    raw: RawRequest,
    known: string | undefined,
    messagesIn: (body: RequestBody) => ReceivedRequest,
  ): Promise<CountedRequest> {
    const { limiter } = this.parts;
    const cost = known === undefined ? this.wasted.begin() : new KeyedReading(limiter, known);
    let body: RequestBody;
    let source: string;
    try {
      body = await this.bodies.read(raw, cost);
      source = known ?? this.sourceOf(otherKey(body.fields, raw.headers.authorization));
      // Counted below without an `await` in between, so that no more requests are taken than the limit allows.
      refuseIfLimited(limiter, source);
    } catch (error) {
      cost.refused(error);
      throw error;
    }
    return { request: this.counted(source, body, messagesIn), source };
  }

  /** Counts a request, even if it is invalid: reading it has cost as much. */
  private counted(
    source: string,
    body: RequestBody,
    messagesIn: (body: RequestBody) => ReceivedRequest,
  ): ReceivedRequest {
    let size: RequestSize = { messages: 1, bytes: body.bytes };
    try {
      const request = messagesIn(body);
      ({ size } = request);
      return request;
    } finally {
      this.parts.limiter.count(source, size, performance.now());
    }
  }

  /** Returns the refused messages. Messages whose destinations are still looked up may be added to the list later. */
  private take(incoming: IncomingRequest, source: string, request: ReceivedRequest): RefusedMessage[] {
    // Decided before any message is taken, since the sender sends the whole request again.
    if (!isAdmitted(incoming, source, request)) throw queueUnavailable();
    const refused: RefusedMessage[] = [];
    for (const [index, value] of request.messages.entries()) {
      const terms = { source, onRefused: addTo(refused, index) };
      const error = this.takeOne(incoming, value, terms, request);
      if (error === undefined) continue;
      if (request.isSingle) throw new RequestRefusal(400, error.code, error.message);
      refused.push({ index, code: error.code, message: error.message });
    }
    return refused;
  }

  /**
   * Takes one message, or returns why it is refused. In a batch, a failure on this side is reported as a refusal, too.
   * Otherwise the other messages would be lost with this one each time that the batch is sent again.
   */
  private takeOne(
    incoming: IncomingRequest,
    value: unknown,
    terms: Pick<IncomingMessage, 'source' | 'onRefused'>,
    { envelope, isSingle }: ReceivedRequest,
  ): Omit<RefusedMessage, 'index'> | undefined {
    try {
      const fields = receivedMessage(value, envelope);
      return incoming.take({ ...terms, fields, uncountedBytes: uncountedBytes(envelope, fields.context) });
    } catch (error) {
      if (error instanceof InvalidMessageError) return error;
      if (isSingle || error instanceof RequestRefusal) throw error;
      this.parts.failures.add(error);
      return FAILED;
    }
  }
}

/** Answers when everything that was taken is in the queue. @throws {RequestRefusal} */
async function answerWhenQueued(
  incoming: IncomingRequest,
  refused: RefusedMessage[],
  isSingle: boolean,
): Promise<HttpAnswer> {
  await incoming.queued();
  const [first] = refused;
  // The sender of a single message may keep it and try again. A batch that is sent again would be delivered twice.
  if (isSingle && first !== undefined) throw refusedForNow(first);
  return acceptedAnswer(refused.sort((one, other) => one.index - other.index));
}

/** Returns a function that adds a message to the refused ones. Its closure must not hold the rest of the request. */
function addTo(refused: RefusedMessage[], index: number): IncomingMessage['onRefused'] {
  return (why) => refused.push({ index, ...why });
}

/** Returns whether messages of every tenant in a request are taken now. Invalid messages are reported when taken. */
function isAdmitted(
  incoming: IncomingRequest,
  source: string,
  { messages, envelope }: ReceivedRequest,
): boolean {
  if (incoming.isForAll) return true;
  return messages.every((value) => {
    try {
      return incoming.admits({ source, fields: receivedMessage(value, envelope) });
    } catch {
      return true;
    }
  });
}
