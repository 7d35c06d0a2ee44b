import { MessageTooLargeError } from '../errors/message.errors.js';
import type { AnalyticsMessage, JsonObject } from '../messages/message.types.js';
import type { SerializedMessage } from '../messages/serialize.js';

/**
 * Serialises a message. If it is too large, removes `spare` from its context and tries again.
 *
 * @param spare context that others added. The message must not be refused because of it
 * @param ownerOf returns the tenant of the event. If removing `spare` would change it, the message is too large
 * @throws as `serialized`
 */
export function serializedWithin(
  message: AnalyticsMessage,
  spare: JsonObject | undefined,
  serialized: () => SerializedMessage,
  ownerOf: () => unknown,
): SerializedMessage {
  try {
    return serialized();
  } catch (error) {
    if (spare === undefined || !(error instanceof MessageTooLargeError)) throw error;
    const owner = ownerOf();
    const removed = removeFrom(message.context, spare);
    if (ownerOf() === owner) return serialized();
    Object.assign(message.context, removed);
    throw error;
  }
}

/**
 * Removes the fields of `spare` from a context, except those that the application has replaced. Equal values need not
 * be identical, since `beforeSend` gets a copy. Returns the removed fields.
 */
function removeFrom(context: JsonObject, spare: JsonObject): JsonObject {
  const removed: JsonObject = {};
  for (const [key, value] of Object.entries(spare)) {
    if (JSON.stringify(context[key]) !== JSON.stringify(value)) continue;
    removed[key] = context[key];
    Reflect.deleteProperty(context, key);
  }
  return removed;
}
