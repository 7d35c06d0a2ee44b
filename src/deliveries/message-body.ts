import type { JsonObject, MessageType } from '../messages/message.types.js';
import { isMessageType } from '../messages/message-builders.js';
import { isJsonObject } from '../messages/value-kind.js';

/** Where a body names users: an alias has the keys of its own. */
const USER_KEYS = ['userId', 'User ID', 'Previous ID', 'previousId'];

/** The type of a message; `undefined` for a body that was not made by this package. */
export function typeOf(body: string): MessageType | undefined {
  const { type } = parse(body);
  return isMessageType(type) ? type : undefined;
}

/** Whether a message is about one of these users. Their deletion itself is not. */
export function isAbout(body: string, users: ReadonlySet<string>): boolean {
  const message = parse(body);
  if (message.type === 'delete') return false;
  return USER_KEYS.some((key) => {
    const user = message[key];
    return typeof user === 'string' && users.has(user);
  });
}

function parse(body: string): JsonObject {
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch {
    // Only another producer on the same queue can have written it: it is about nobody we know.
    return {};
  }
  return isJsonObject(message) ? message : {};
}
