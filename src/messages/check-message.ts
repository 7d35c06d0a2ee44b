import { InvalidMessageError } from '../errors/invalid-message.error.js';
import { buildMessage, isMessageType, MESSAGE_TYPES } from './message-builders.js';
import { integrationsOf, objectOf, requiredMessageId, unexpected } from './message-checks.js';
import type { AnalyticsMessage } from './message.types.js';
import { toTimestamp } from './timestamp.js';
import { isJsonObject } from './value-kind.js';

/**
 * Checks a complete message again, after code of the application had it in hand, and brings it back to its
 * form: the timestamp normalised, unknown fields left out. Nothing is stamped: an id or a time that is gone
 * is an error.
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
