import { MessageTooLargeError } from '../errors/message.errors.js';
import type { AnalyticsMessage, JsonObject } from '../messages/message.types.js';
import type { SerializedMessage } from '../messages/serialize.js';

/**
 * Serialises a message. Where it is too large, what may be spared is removed from its context first.
 *
 * @param spare what others have added to the context of whoever made the message: nothing of their own is refused for it
 * @param ownerOf whose event it is. Where that depends on what would be removed, the message is too large
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
 * Keeps what the application has replaced. `beforeSend` gets a copy, so what is the same need not be identical. Returns what
 * was removed.
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
