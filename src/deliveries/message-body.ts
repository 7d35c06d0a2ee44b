import { groupIn } from '../messages/context-group.js';
import { isMessageType } from '../messages/message-builders.js';
import type { JsonObject, MessageType } from '../messages/message.types.js';
import { isJsonObject } from '../messages/value-kind.js';
import { userKey } from './deletion-key.js';

/** Fields that name users. An alias has fields of its own. */
const USER_KEYS = ['userId', 'User ID', 'Previous ID', 'previousId'];

/** Returns the type of a message, or `undefined` for a body that was not made by this package. */
export function typeOf(body: string): MessageType | undefined {
  const { type } = parse(body);
  return isMessageType(type) ? type : undefined;
}

/**
 * Matches the beginning of a webhook's body, up to the name of an event. A beginning with an escape does not match, nor
 * does what `forwarding` sends.
 */
const BEGINNING =
  /^\{"version":1,"type":"([a-z]+)",(?:"userId":"[^"\\]*",)?(?:"anonymousId":"[^"\\]*",)?(?:"event":"([^"\\]*)")?/;

/**
 * Returns what the history of deliveries shows of a message: its type, and the name of a `track` event. The beginning
 * is enough for nearly all bodies; to parse the rest costs ten times as much.
 */
export function summaryOf(body: string): { type: MessageType | undefined; event?: string } {
  const { type, event } = summaryFields(body);
  if (!isMessageType(type)) return { type: undefined };
  return type === 'track' && typeof event === 'string' ? { type, event } : { type };
}

function summaryFields(body: string): { type?: unknown; event?: unknown } {
  const [, type, event] = BEGINNING.exec(body) ?? [];
  if (type === undefined || (type === 'track' && event === undefined)) return parse(body);
  // A match is a slice, which keeps the whole body in memory, so the name is copied.
  return event === undefined ? { type } : { type, event: JSON.parse(`"${event}"`) };
}

/** Users that a message is about. */
export interface MessageUsers {
  /** Keys of the users. Empty for a deletion, which outlives its user's other messages. */
  keys: string[];
  /** The group that the context of the message names, if it names one. */
  group: string | undefined;
  /** The timestamp of the message, in milliseconds since the epoch; `NaN` if it has none. */
  timestamp: number;
}

/** Returns the users that a message is about. */
export function usersOf(body: string): MessageUsers {
  const message = parse(body);
  const ids = message.type === 'delete' ? [] : USER_KEYS.map((key) => message[key]);
  return {
    keys: ids.filter((id) => typeof id === 'string').map(userKey),
    group: groupIn(message.context),
    timestamp: typeof message.timestamp === 'string' ? Date.parse(message.timestamp) : NaN,
  };
}

function parse(body: string): JsonObject {
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch {
    // Only another producer on the same queue can have written this, so it is about no user that we know.
    return {};
  }
  return isJsonObject(message) ? message : {};
}
