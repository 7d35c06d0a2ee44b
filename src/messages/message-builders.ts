import { InvalidMessageError } from '../errors/invalid-message.error.js';
import { objectOf, optionalString, requiredString } from './message-checks.js';
import type { AnalyticsMessage, Integrations, JsonObject, MessageType } from './message.types.js';

/** The message that a type of call makes. */
export type MessageOf<T extends MessageType> = Extract<AnalyticsMessage, { type: T }>;

/** What a message is stamped with, whatever its type. */
export interface MessageStamp {
  messageId: string;
  timestamp: string;
  context: JsonObject;
  integrations: Integrations;
}

type MessageBuilders = {
  readonly [T in MessageType]: (fields: JsonObject, stamp: MessageStamp) => MessageOf<T>;
};

/**
 * The fields of each type, each checked as it is taken; what is not named here is not sent.
 */
const BUILDERS: MessageBuilders = {
  identify: (fields, stamp) => ({
    type: 'identify',
    ...stamp,
    ...identityOf(fields),
    traits: objectOf(fields, 'traits'),
  }),
  track: (fields, stamp) => ({
    type: 'track',
    ...stamp,
    ...identityOf(fields),
    event: requiredString(fields, 'event'),
    properties: objectOf(fields, 'properties'),
  }),
  page: (fields, stamp) => ({
    type: 'page',
    ...stamp,
    ...identityOf(fields),
    ...viewOf(fields),
    // The client specification calls a page's properties its traits.
    properties: { ...objectOf(fields, 'traits'), ...objectOf(fields, 'properties') },
  }),
  screen: (fields, stamp) => ({
    type: 'screen',
    ...stamp,
    ...identityOf(fields),
    ...viewOf(fields),
    properties: objectOf(fields, 'properties'),
  }),
  group: (fields, stamp) => ({
    type: 'group',
    ...stamp,
    ...identityOf(fields),
    groupId: requiredString(fields, 'groupId'),
    traits: objectOf(fields, 'traits'),
  }),
  alias: (fields, stamp) => ({
    type: 'alias',
    ...stamp,
    userId: requiredString(fields, 'userId'),
    previousId: requiredString(fields, 'previousId'),
  }),
  delete: (fields, stamp) => ({
    type: 'delete',
    ...stamp,
    userId: requiredString(fields, 'userId'),
  }),
};

/** The types of messages, in the order in which an error text lists them. */
export const MESSAGE_TYPES = Object.keys(BUILDERS);

/** Whether a value names a type of message. */
export function isMessageType(value: unknown): value is MessageType {
  return typeof value === 'string' && Object.hasOwn(BUILDERS, value);
}

/**
 * Builds a message of a type from fields that may be anything.
 *
 * @throws {InvalidMessageError} naming the first field that is missing or wrong
 */
export function buildMessage<T extends MessageType>(
  type: T,
  fields: JsonObject,
  stamp: MessageStamp,
): MessageOf<T> {
  return BUILDERS[type](fields, stamp);
}

function identityOf(fields: JsonObject): { userId: string | undefined; anonymousId: string | undefined } {
  const userId = optionalString(fields, 'userId');
  const anonymousId = optionalString(fields, 'anonymousId');
  if (userId === undefined && anonymousId === undefined) {
    throw new InvalidMessageError('userId', 'Expected `userId` or `anonymousId` to be given, got neither');
  }
  return { userId, anonymousId };
}

function viewOf(fields: JsonObject): { name: string | undefined; category: string | undefined } {
  return { name: optionalString(fields, 'name'), category: optionalString(fields, 'category') };
}
