import { isIP } from 'node:net';
import { InvalidMessageError } from '../../errors/message.errors.js';
import { isMessageType, MESSAGE_TYPES } from '../../messages/message-builders.js';
import { objectOf, unexpected } from '../../messages/message-checks.js';
import { mergedFields } from '../../messages/merged-fields.js';
import type { JsonObject, MessageType } from '../../messages/message.types.js';
import { parseIso8601, toTimestamp } from '../../messages/timestamp.js';
import { isJsonObject } from '../../messages/value-kind.js';
import { numericGroup, numericIds } from './message-ids.js';

/** A client's clock counts as correct up to this difference, in milliseconds. */
const CLOCK_TOLERANCE = 60_000;
/** Length of the longest address, in characters: IPv6 with an IPv4 address at its end. */
const MAX_IP_LENGTH = 45;
/** Bytes of `"ip":"",`. */
const IP_MEMBER_BYTES = 8;

/** A write key in a web page is public: it may send events, but must not delete users. */
const TYPES = MESSAGE_TYPES.filter((type) => type !== 'delete');

/** Values that a message shares with the request that it came in. */
export interface RequestEnvelope {
  /** The type that the path of a single call names. Messages of a batch name their own. */
  type: MessageType | undefined;
  /** Merged under each message's own context. */
  context: JsonObject;
  integrations: JsonObject;
  /** When the request arrived, in milliseconds since the epoch. */
  receivedAt: number;
  /** When the sender claims to have sent it, in milliseconds since the epoch; `NaN` if missing or invalid. */
  sentAt: number;
  /** Whether timestamps stay unchanged, whatever the sender's clock says. */
  isImport: boolean;
  ip: string | undefined;
}

/**
 * Converts a client's message to the fields of a call. This function does only what is special to the tracking API: the
 * fields are checked later, with those of every other message.
 *
 * @throws {InvalidMessageError}
 */
export function receivedMessage(value: unknown, envelope: RequestEnvelope): JsonObject {
  if (!isJsonObject(value)) throw unexpected('message', 'an object', value);
  const type = envelope.type ?? value.type;
  if (!isMessageType(type) || type === 'delete') {
    throw new InvalidMessageError('type', `Expected \`type\` to be one of ${TYPES.join(', ')}`);
  }
  const message = withShared(value, envelope);
  const given = objectOf(message, 'context');
  const context = { ...given, ...numericGroup(given) };
  if (context.ip === undefined && envelope.ip !== undefined) context.ip = envelope.ip;
  const checked = { type, context, timestamp: timestampOf(value, envelope) };
  return mergedFields(mergedFields(message, numericIds(value)), checked);
}

/**
 * Returns a message with the fields that its batch shares merged under its own fields.
 *
 * @throws {InvalidMessageError}
 */
export function withShared(
  message: JsonObject,
  shared: Pick<RequestEnvelope, 'context' | 'integrations'>,
): JsonObject {
  return mergedFields(message, {
    context: mergedFields(shared.context, objectOf(message, 'context')),
    integrations: mergedFields(shared.integrations, integrationsOf(message)),
  });
}

/** Returns the `integrations` of a batch or a message. One client writes `All` in lower case. */
export function integrationsOf(fields: JsonObject): JsonObject {
  const { all, ...integrations } = objectOf(fields, 'integrations');
  if (typeof all !== 'boolean') return all === undefined ? integrations : { ...integrations, all };
  return { All: all, ...integrations };
}

/**
 * Returns the bytes of a message that do not count against its limit: its sender's address. Each API on the way adds a
 * missing address. If it counted, the next API would refuse a full-size message that this one took.
 */
export function uncountedBytes({ ip: senderIp }: RequestEnvelope, context: unknown): number {
  const ip = isJsonObject(context) ? context.ip : undefined;
  if (typeof ip !== 'string' || !mayBeAddress(ip) || (ip !== senderIp && isIP(ip) === 0)) return 0;
  return IP_MEMBER_BYTES + Buffer.byteLength(ip);
}

/**
 * Returns whether a text can be the address of a sender. An address with a zone (`%eth0`) cannot: a zone can be of any
 * length, and means nothing on another machine.
 */
export function mayBeAddress(ip: string): boolean {
  return ip.length <= MAX_IP_LENGTH && !ip.includes('%');
}

/** Returns the time of the event: the client's time, corrected if the client's clock is known to be wrong. */
function timestampOf(message: JsonObject, envelope: RequestEnvelope): Date | string {
  const given = message.timestamp ?? message.originalTimestamp;
  if (given === undefined || given === null) return new Date(envelope.receivedAt);
  const timestamp = toTimestamp(given);
  const own = message.sentAt ?? undefined;
  const offset = clockOffset(own === undefined ? envelope.sentAt : timeOf(own), envelope);
  return offset === 0 ? timestamp : new Date(Date.parse(timestamp) + offset);
}

/** Returns the milliseconds by which the sender's clock is behind; 0 if the difference is small or unknown. */
function clockOffset(sentAt: number, { isImport, receivedAt }: RequestEnvelope): number {
  const offset = receivedAt - sentAt;
  return !isImport && Math.abs(offset) > CLOCK_TOLERANCE ? offset : 0;
}

/** Returns the time in a `sentAt`, in milliseconds since the epoch; `NaN` if there is no valid time. */
export function timeOf(sentAt: unknown): number {
  return typeof sentAt === 'string' ? parseIso8601(sentAt) : Number.NaN;
}
