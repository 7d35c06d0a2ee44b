import { InvalidMessageError } from '../../errors/message.errors.js';
import type { RequestBody } from '../../http/body-reader.js';
import { RequestRefusal } from '../../http/request-refusal.js';
import { batchBytes, MAX_BATCH_BYTES } from '../../messages/serialize.js';
import { objectOf } from '../../messages/message-checks.js';
import type { JsonObject } from '../../messages/message.types.js';
import { stringify } from '../../messages/serialize.js';
import { describeKind, isJsonObject } from '../../messages/value-kind.js';
import type { RequestSize } from './rate-limiter.js';
import {
  integrationsOf,
  mayBeAddress,
  type RequestEnvelope,
  timeOf,
  withShared,
} from './received-message.js';
import type { TrackingRoute } from './tracking-routes.js';

/** The largest number of messages in one request. */
const MAX_MESSAGES = 2_500;

type SharedFields = Pick<RequestEnvelope, 'context' | 'integrations'>;

/** The messages of a request, not yet checked, and what they share. */
export interface ReceivedRequest {
  messages: readonly unknown[];
  envelope: RequestEnvelope;
  /** Whether the request is a single call, which is refused as a whole. */
  isSingle: boolean;
  /** Number and bytes of the messages. Everything that a batch shares counts once for each message. */
  size: RequestSize;
}

/**
 * Reads the messages in the body of a request.
 *
 * @throws {RequestRefusal} for a batch that is not an array, or too large
 */
export function readRequest(
  route: Exclude<TrackingRoute, { kind: 'metrics' }>,
  { fields, bytes }: RequestBody,
  { receivedAt, ip }: Pick<RequestEnvelope, 'receivedAt' | 'ip'>,
): ReceivedRequest {
  // A sender behind a trusted proxy may have written anything into the header that the proxy forwards.
  const senderIp = ip !== undefined && mayBeAddress(ip) ? ip : undefined;
  // `sentAt` is read only once: it may be as long as the body, and apply to thousands of messages.
  const common = { receivedAt, sentAt: timeOf(fields.sentAt), ip: senderIp };
  if (route.kind === 'single') {
    const envelope = { ...common, type: route.type, context: {}, integrations: {}, isImport: false };
    return { messages: [fields], envelope, isSingle: true, size: { messages: 1, bytes } };
  }
  const shared = sharedFields(fields);
  const messages = messagesOf(fields);
  const size = { messages: messages.length, bytes: mergedBytes(messages, shared, bytes) };
  return {
    messages,
    envelope: { ...common, ...shared, type: undefined, isImport: route.isImport },
    isSingle: false,
    size,
  };
}

function messagesOf({ batch }: JsonObject): readonly unknown[] {
  if (!Array.isArray(batch)) {
    const given = describeKind(batch);
    throw new RequestRefusal(
      400,
      'INVALID_BODY',
      `Expected \`batch\` to be an array of messages, got ${given}.`,
    );
  }
  if (batch.length > MAX_MESSAGES) {
    throw new RequestRefusal(
      413,
      'TOO_MANY_MESSAGES',
      `The batch has ${batch.length} messages, the limit is ${MAX_MESSAGES}: send them in several batches.`,
    );
  }
  return batch;
}

function sharedFields(body: JsonObject): SharedFields {
  return refusingBody(() => ({ context: objectOf(body, 'context'), integrations: integrationsOf(body) }));
}

/**
 * Returns the bytes of a batch after everything it shares is merged into each message. Otherwise a request of a few
 * hundred bytes could fill the whole buffer. Only a batch that may exceed the limit is measured exactly.
 *
 * @throws {RequestRefusal} for a batch that is too large after merging, or whose shared fields cannot be serialised:
 *   trying that for each message may take seconds
 */
function mergedBytes(messages: readonly unknown[], shared: SharedFields, bodyBytes: number): number {
  if (isEmpty(shared.context) && isEmpty(shared.integrations)) return bodyBytes;
  const sharedBytes = refusingBody(() => Buffer.byteLength(stringify({ ...shared })));
  const atMost = bodyBytes + messages.length * sharedBytes;
  if (atMost <= MAX_BATCH_BYTES) return atMost;
  let bytes = 0;
  for (const message of messages) {
    bytes += bytesOf(message, shared) ?? sharedBytes;
    if (batchBytes(bytes, messages.length) > MAX_BATCH_BYTES) throw tooLargeMerged();
  }
  return bytes;
}

/**
 * Returns the bytes of a message, or `undefined` if it cannot be merged or serialised. Such a message is refused later,
 * by its index. To find that out takes as long as to serialise the shared fields.
 */
function bytesOf(message: unknown, shared: SharedFields): number | undefined {
  if (!isJsonObject(message)) return 0;
  try {
    return Buffer.byteLength(stringify(merged(message, shared)));
  } catch (error) {
    if (error instanceof InvalidMessageError) return undefined;
    throw error;
  }
}

/** Reads the fields that all messages of a batch share. @throws {RequestRefusal} if they are invalid */
function refusingBody<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    throw new RequestRefusal(400, 'INVALID_BODY', `${error.message}.`);
  }
}

function merged(message: JsonObject, shared: SharedFields): JsonObject {
  const { context, integrations, ...rest } = withShared(message, shared);
  return {
    ...rest,
    context: isEmpty(shared.context) ? message.context : context,
    integrations: isEmpty(shared.integrations) ? message.integrations : integrations,
  };
}

function isEmpty(fields: JsonObject): boolean {
  return Object.keys(fields).length === 0;
}

function tooLargeMerged(): RequestRefusal {
  return new RequestRefusal(
    413,
    'BODY_TOO_LARGE',
    `With its \`context\` and \`integrations\` merged into each message, the batch is larger than ${MAX_BATCH_BYTES} bytes (500 KB): send fewer messages at once.`,
  );
}
