import { InvalidMessageError } from '../errors/message.errors.js';
import { mergedFields } from './merged-fields.js';
import { isGiven, objectOf, optionalString, requiredString } from './message-checks.js';
import type { AnalyticsMessage, Integrations, JsonObject, MessageType } from './message.types.js';

/** The message that each type of call makes. */
export type MessageOf<T extends MessageType> = Extract<AnalyticsMessage, { type: T }>;

/** The fields that every message gets, whatever its type. */
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
 * The fields of each type, each checked as it is read. Fields not named here are not sent. The common fields
 * are written out in each: a spread in the middle of a literal costs more than all of the rest.
 */
const BUILDERS: MessageBuilders = {
  identify: (fields, stamp) => ({
    type: 'identify',
    messageId: stamp.messageId,
    timestamp: stamp.timestamp,
    context: stamp.context,
    integrations: stamp.integrations,
    userId: optionalString(fields, 'userId'),
    anonymousId: optionalString(fields, 'anonymousId'),
    traits: objectOf(fields, 'traits'),
  }),
  track: (fields, stamp) => ({
    type: 'track',
    messageId: stamp.messageId,
    timestamp: stamp.timestamp,
    context: stamp.context,
    integrations: stamp.integrations,
    userId: optionalString(fields, 'userId'),
    anonymousId: optionalString(fields, 'anonymousId'),
    event: requiredString(fields, 'event'),
    properties: objectOf(fields, 'properties'),
  }),
  page: (fields, stamp) => ({
    type: 'page',
    messageId: stamp.messageId,
    timestamp: stamp.timestamp,
    context: stamp.context,
    integrations: stamp.integrations,
    userId: optionalString(fields, 'userId'),
    anonymousId: optionalString(fields, 'anonymousId'),
    name: optionalString(fields, 'name'),
    category: optionalString(fields, 'category'),
    // The client specification calls a page's properties its traits.
    properties: mergedFields(objectOf(fields, 'traits'), objectOf(fields, 'properties')),
  }),
  screen: (fields, stamp) => ({
    type: 'screen',
    messageId: stamp.messageId,
    timestamp: stamp.timestamp,
    context: stamp.context,
    integrations: stamp.integrations,
    userId: optionalString(fields, 'userId'),
    anonymousId: optionalString(fields, 'anonymousId'),
    name: optionalString(fields, 'name'),
    category: optionalString(fields, 'category'),
    properties: objectOf(fields, 'properties'),
  }),
  group: (fields, stamp) => ({
    type: 'group',
    messageId: stamp.messageId,
    timestamp: stamp.timestamp,
    context: stamp.context,
    integrations: stamp.integrations,
    userId: optionalString(fields, 'userId'),
    anonymousId: optionalString(fields, 'anonymousId'),
    groupId: requiredString(fields, 'groupId'),
    traits: objectOf(fields, 'traits'),
  }),
  alias: (fields, stamp) => ({
    type: 'alias',
    messageId: stamp.messageId,
    timestamp: stamp.timestamp,
    context: stamp.context,
    integrations: stamp.integrations,
    userId: requiredString(fields, 'userId'),
    previousId: requiredString(fields, 'previousId'),
  }),
  delete: (fields, stamp) => ({
    type: 'delete',
    messageId: stamp.messageId,
    timestamp: stamp.timestamp,
    context: stamp.context,
    integrations: stamp.integrations,
    // In the form in which messages are sent, so that the user's messages are found by this id.
    userId: requiredString(fields, 'userId').toWellFormed(),
  }),
};

/** The types of messages, in the order in which error messages list them. */
export const MESSAGE_TYPES = Object.keys(BUILDERS);

/** Whether a value is a type of message. */
export function isMessageType(value: unknown): value is MessageType {
  return typeof value === 'string' && Object.hasOwn(BUILDERS, value);
}

/**
 * Builds a message of a type from unchecked fields.
 *
 * @throws {InvalidMessageError} naming the first field that is missing or wrong
 */
export function buildMessage<T extends MessageType>(
  type: T,
  fields: JsonObject,
  stamp: MessageStamp,
): MessageOf<T> {
  if (type !== 'alias' && type !== 'delete') requireIdentity(fields);
  return BUILDERS[type](fields, stamp);
}

function requireIdentity(fields: JsonObject): void {
  if (isGiven(fields.userId) || isGiven(fields.anonymousId)) return;
  throw new InvalidMessageError('userId', 'Expected `userId` or `anonymousId` to be given, got neither');
}
