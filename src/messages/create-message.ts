import { randomUUID } from 'node:crypto';
import { InvalidMessageError } from '../errors/message.errors.js';
import { mergedFields } from './merged-fields.js';
import { buildMessage, type MessageOf } from './message-builders.js';
import { integrationsOf, isAbsent, objectOf, requiredMessageId } from './message-checks.js';
import type { MessageParams } from './message-params.types.js';
import type { JsonObject, MessageType } from './message.types.js';
import { timestampNow, toTimestamp } from './timestamp.js';
import { describeKind, isJsonObject } from './value-kind.js';

/**
 * Makes the message of a call: checks the fields, which untyped code may set to anything, and adds an id and
 * a timestamp if they are missing. Unknown fields are ignored. The message and its context, integrations,
 * properties and traits are new objects; deeper objects are still the caller's.
 *
 * A `delete` takes neither a `messageId` nor a `context`.
 *
 * @param baseContext merged under the given context, one level deep
 * @throws {InvalidMessageError} naming the first field that is missing or wrong
 */
export function createMessage<T extends MessageType>(
  type: T,
  params: MessageParams[T],
  baseContext: JsonObject,
): MessageOf<T> {
  const fields = fieldsOf(type, params);
  // A delete is sent once for each source. With one id for all, receivers would drop all but the first.
  const isDelete = type === 'delete';
  return buildMessage(type, fields, {
    messageId: isDelete || isAbsent(fields.messageId) ? randomUUID() : requiredMessageId(fields),
    timestamp: isAbsent(fields.timestamp) ? timestampNow() : toTimestamp(fields.timestamp),
    context: isDelete ? {} : contextOf(fields, baseContext),
    integrations: integrationsOf(fields),
  });
}

function contextOf(fields: JsonObject, baseContext: JsonObject): JsonObject {
  if (isAbsent(fields.context)) return { ...baseContext };
  return mergedFields(baseContext, objectOf(fields, 'context'));
}

function fieldsOf(type: MessageType, params: unknown): JsonObject {
  if (isJsonObject(params)) return params;
  throw new InvalidMessageError(
    'message',
    `Expected \`${type}\` to be given one object with its fields, got ${describeKind(params)}`,
  );
}
