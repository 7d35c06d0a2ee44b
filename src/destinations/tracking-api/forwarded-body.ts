import type { AnalyticsMessage, JsonObject } from '../../messages/message.types.js';

/**
 * A message as it goes on to another tracking API: as it was taken, with the `integrations` that are
 * selected by there.
 */
export function forwardedBody(message: AnalyticsMessage): JsonObject {
  return { ...message };
}

/**
 * The body of one request for messages that were serialised before. It says nothing of when it is sent:
 * a batch may have waited for hours, which would be taken for a wrong clock.
 */
export function batchBody(bodies: readonly string[]): Buffer {
  return Buffer.from(`{"batch":[${bodies.join(',')}]}`);
}
