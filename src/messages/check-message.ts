import { InvalidMessageError } from '../errors/message.errors.js';
import { buildMessage, isMessageType, MESSAGE_TYPES } from './message-builders.js';
import { integrationsOf, objectOf, requiredMessageId, unexpected } from './message-checks.js';
import type { AnalyticsMessage } from './message.types.js';
import { toTimestamp } from './timestamp.js';
import { isJsonObject } from './value-kind.js';

/**
 * Checks a complete message again after application code has handled it, and normalises it: the timestamp is
 * converted, unknown fields are dropped. Nothing is filled in: a missing id or timestamp is an error.
 *
 * @throws {InvalidMessageError} naming the first field that is missing or wrong
 */
export function checkMessage(value: unknown): AnalyticsMessage {
  if (!isJsonObject(value)) throw unexpected('message', 'an object', value);
  if (!isMessageType(value.type)) {
    throw new InvalidMessageError('type', `Expected \`type\` to be one of ${MESSAGE_TYPES.join(', ')}`);
  }
  return buildMessage(value.type, value, {
    messageId: requiredMessageId(value),
    timestamp: toTimestamp(value.timestamp),
    context: objectOf(value, 'context'),
    integrations: integrationsOf(value),
  });
}
