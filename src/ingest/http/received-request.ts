import { InvalidMessageError } from '../errors/invalid-message.error.js';
import { objectOf } from '../messages/message-checks.js';
import type { JsonObject } from '../messages/message.types.js';
import { describeKind } from '../messages/value-kind.js';
import { integrationsOf, type RequestEnvelope } from './received-message.js';
import { RequestRefusal } from './request-refusal.js';
import type { TrackingRoute } from './tracking-paths.js';

/** The most messages of one request. */
const MAX_MESSAGES = 2_500;

/** What a request brings: messages, which may be anything yet, and what they share. */
export interface ReceivedRequest {
  messages: readonly unknown[];
  envelope: RequestEnvelope;
  /** Whether the request is one call, which is refused as a whole. */
  isSingle: boolean;
}

/**
 * Reads the messages in the body of a request.
 *
 * @throws {RequestRefusal} for a batch that is none
 */
export function readRequest(
  route: Exclude<TrackingRoute, { kind: 'metrics' }>,
  body: JsonObject,
  { receivedAt, ip }: { receivedAt: number; ip: string | undefined },
): ReceivedRequest {
  const { sentAt } = body;
  const common = { receivedAt, sentAt, ip };
  if (route.kind === 'single') {
    const envelope = { ...common, type: route.type, context: {}, integrations: {}, isImport: false };
    return { messages: [body], envelope, isSingle: true };
  }
  const shared = sharedFields(body);
  return {
    messages: messagesOf(body),
    envelope: { ...common, ...shared, type: undefined, isImport: route.isImport },
    isSingle: false,
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

function sharedFields(body: JsonObject): Pick<RequestEnvelope, 'context' | 'integrations'> {
  try {
    return { context: objectOf(body, 'context'), integrations: integrationsOf(body) };
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    throw new RequestRefusal(400, 'INVALID_BODY', `${error.message}.`);
  }
}
