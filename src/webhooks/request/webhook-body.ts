import type { AnalyticsMessage, JsonObject } from '../../messages/message.types.js';

/** Version of the body's shape. */
const VERSION = 1;

/**
 * Returns the body of a webhook request, with its keys in the order in which they are sent. `JSON.stringify` leaves out
 * keys that are `undefined`. `integrations` controls the routing and is never sent.
 */
export function webhookBody(message: AnalyticsMessage): JsonObject {
  switch (message.type) {
    case 'track':
      return {
        version: VERSION,
        type: message.type,
        userId: message.userId,
        anonymousId: message.anonymousId,
        event: message.event,
        properties: message.properties,
        context: message.context,
        messageId: message.messageId,
        timestamp: message.timestamp,
      };
    case 'page':
    case 'screen':
      return {
        version: VERSION,
        type: message.type,
        userId: message.userId,
        anonymousId: message.anonymousId,
        name: message.name,
        category: message.category,
        properties: message.properties,
        context: message.context,
        messageId: message.messageId,
        timestamp: message.timestamp,
      };
    case 'identify':
      return {
        version: VERSION,
        type: message.type,
        userId: message.userId,
        anonymousId: message.anonymousId,
        traits: message.traits,
        context: message.context,
        messageId: message.messageId,
        timestamp: message.timestamp,
      };
    case 'group':
      return {
        version: VERSION,
        type: message.type,
        userId: message.userId,
        anonymousId: message.anonymousId,
        groupId: message.groupId,
        traits: message.traits,
        context: message.context,
        messageId: message.messageId,
        timestamp: message.timestamp,
      };
    case 'alias':
      return {
        version: VERSION,
        type: message.type,
        'Previous ID': message.previousId,
        'User ID': message.userId,
        context: message.context,
        messageId: message.messageId,
        timestamp: message.timestamp,
      };
    case 'delete':
      return { type: message.type, userId: message.userId, timestamp: message.timestamp };
  }
}
