import { isMessageType } from '../../messages/message-builders.js';
import type { JsonObject } from '../../messages/message.types.js';
import { isJsonObject } from '../../messages/value-kind.js';
import type { DeliveredMessage } from '../../options/custom-destination.interface.js';
import type { QueuedMessage } from '../../queue/batch-job.js';

/** The message of a body, as the application's code gets it; `undefined` if this package did not write it. */
export function deliveredMessage({ id, body }: QueuedMessage): DeliveredMessage | undefined {
  const fields = parse(body);
  if (fields === undefined || !isMessageType(fields.type)) return undefined;
  // Whoever wrote a body with a known type has checked its other fields.
  return {
    ...withOwnNames(fields),
    context: fields.context ?? {},
    messageId: id,
  } as unknown as DeliveredMessage;
}

/** A body has the names of the fields that webhooks get. */
function withOwnNames(fields: JsonObject): JsonObject {
  const named = { ...fields };
  delete named.version;
  if (fields.type !== 'alias') return named;
  const { 'Previous ID': previousId, 'User ID': userId, ...others } = named;
  return { ...others, previousId, userId };
}

function parse(body: string): JsonObject | undefined {
  try {
    const message: unknown = JSON.parse(body);
    return isJsonObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}
