import { InvalidMessageError } from '../errors/invalid-message.error.js';
import { thrownAt } from '../errors/thrown-at.js';
import { checkMessage } from '../messages/check-message.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import { stringify } from '../messages/serialize.js';

/** The application's hook: returns the message, changed or not, or `null` to drop it. */
export type BeforeSend = (message: AnalyticsMessage) => AnalyticsMessage | null;

/** The application's hook threw: its message is dropped, since sending it as it was may be a leak. */
export class BeforeSendThrew extends Error {
  constructor(cause: unknown) {
    super(`\`beforeSend\` threw ${thrownAt(cause)}`);
  }
}

/**
 * Runs the hook on a copy, so that what it changes is changed in the message and not in the caller's
 * own objects.
 */
export function applyBeforeSend(beforeSend: BeforeSend, message: AnalyticsMessage): AnalyticsMessage | null {
  const copy = checkMessage(JSON.parse(stringify({ ...message })));
  let returned: unknown;
  try {
    returned = beforeSend(copy);
  } catch (error) {
    throw new BeforeSendThrew(error);
  }
  if (returned === null) return null;
  if (returned instanceof Promise) {
    throw new InvalidMessageError(
      'beforeSend',
      'Expected `beforeSend` to return a message or null, got a promise: it must be synchronous',
    );
  }
  return checkMessage(returned);
}
