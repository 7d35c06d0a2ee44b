import { InvalidMessageError } from '../errors/invalid-message.error.js';
import { isMessageType, MESSAGE_TYPES } from '../messages/message-builders.js';
import { objectOf, unexpected } from '../messages/message-checks.js';
import type { JsonObject, MessageType } from '../messages/message.types.js';
import { toTimestamp } from '../messages/timestamp.js';
import { isJsonObject } from '../messages/value-kind.js';

/** A client's clock is taken for right up to this, in milliseconds. */
const CLOCK_TOLERANCE = 60_000;

/** Ids that some clients send as numbers. */
const IDS = ['userId', 'anonymousId', 'previousId', 'groupId', 'messageId'] as const;

/** The browser's key is known to all: who has it may tell what users do, and not have them deleted. */
const TYPES = MESSAGE_TYPES.filter((type) => type !== 'delete');

/** What a message shares with the request that it came in. */
export interface RequestEnvelope {
  /** The type of a single call's path; a batch's messages say it themselves. */
  type: MessageType | undefined;
  /** Merged under each message's own. */
  context: JsonObject;
  integrations: JsonObject;
  /** When the request came, in milliseconds since the epoch. */
  receivedAt: number;
  /** When its sender says that it was sent: whatever stood there. */
  sentAt: unknown;
  /** Whether times stand as they are, whatever the sender's clock says. */
  isImport: boolean;
  ip: string | undefined;
}

/**
 * Brings a message of a client to the fields that a call has. They are checked where every message is;
 * here is only what this door alone allows.
 *
 * @throws {InvalidMessageError}
 */
export function receivedMessage(value: unknown, envelope: RequestEnvelope): JsonObject {
  if (!isJsonObject(value)) throw unexpected('message', 'an object', value);
  const type = envelope.type ?? value.type;
  if (!isMessageType(type) || type === 'delete') {
    throw new InvalidMessageError('type', `Expected \`type\` to be one of ${TYPES.join(', ')}`);
  }
  const ids = IDS.flatMap((id) => (typeof value[id] === 'number' ? [[id, String(value[id])] as const] : []));
  return {
    ...value,
    ...Object.fromEntries(ids),
    type,
    context: contextOf(value, envelope),
    integrations: { ...envelope.integrations, ...integrationsOf(value) },
    timestamp: timestampOf(value, envelope),
  };
}

/** The `integrations` of a batch or a message, in which one client writes `All` in lower case. */
export function integrationsOf(fields: JsonObject): JsonObject {
  const { all, ...integrations } = objectOf(fields, 'integrations');
  if (typeof all !== 'boolean') return all === undefined ? integrations : { ...integrations, all };
  return { All: all, ...integrations };
}

function contextOf(message: JsonObject, envelope: RequestEnvelope): JsonObject {
  const context = { ...envelope.context, ...objectOf(message, 'context') };
  if (context.ip === undefined && envelope.ip !== undefined) context.ip = envelope.ip;
  return context;
}

/** When it happened: the client's time, put right where its clock is known to be wrong. */
function timestampOf(message: JsonObject, envelope: RequestEnvelope): Date | string {
  const given = message.timestamp ?? message.originalTimestamp;
  if (given === undefined || given === null) return new Date(envelope.receivedAt);
  const timestamp = toTimestamp(given);
  const offset = clockOffset(message.sentAt ?? envelope.sentAt, envelope);
  return offset === 0 ? timestamp : new Date(Date.parse(timestamp) + offset);
}

/** Milliseconds by which the sender's clock is behind; 0 where that is little, or not known. */
function clockOffset(sentAt: unknown, { isImport, receivedAt }: RequestEnvelope): number {
  if (isImport || typeof sentAt !== 'string') return 0;
  const offset = receivedAt - Date.parse(sentAt);
  return Math.abs(offset) > CLOCK_TOLERANCE ? offset : 0;
}
