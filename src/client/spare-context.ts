import { MessageTooLargeError } from '../errors/message.errors.js';
import type { AnalyticsMessage, JsonObject } from '../messages/message.types.js';
import type { SerializedMessage } from '../messages/serialize.js';

/**
 * Serialises a message. Where it is too large, what may be spared is removed from its context first.
 *
 * @param spare what others have added to the context of whoever made the message: nothing of their own is refused for it
 * @throws as `serialized`
 */
export function serializedWithin(
  message: AnalyticsMessage,
  spare: JsonObject | undefined,
  serialized: () => SerializedMessage,
): SerializedMessage {
  try {
    return serialized();
  } catch (error) {
    if (spare === undefined || !(error instanceof MessageTooLargeError)) throw error;
    removeFrom(message.context, spare);
    return serialized();
  }
}

/** Keeps what the application has replaced. `beforeSend` gets a copy, so what is the same need not be identical. */
function removeFrom(context: JsonObject, spare: JsonObject): void {
  for (const [key, value] of Object.entries(spare)) {
    if (JSON.stringify(context[key]) === JSON.stringify(value)) Reflect.deleteProperty(context, key);
  }
}
