import { types } from 'node:util';
import { InvalidMessageError } from '../errors/message.errors.js';
import { thrownAt } from '../shared/thrown-at.js';
import { checkMessage } from '../messages/check-message.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import { stringify } from '../messages/serialize.js';
import { describeKind, isJsonObject } from '../messages/value-kind.js';
import type { Refusal } from './admission.js';

/** The application's hook: returns the message, changed or not, or `null` to drop it. */
export type BeforeSend = (message: AnalyticsMessage) => AnalyticsMessage | null;

/** Refusal of a received message that became too large only through the application's hook. */
export const ENLARGED: Refusal = {
  kind: 'before_send',
  reason: '`beforeSend` returned a message of more than 32 KB',
  forTenant: '`beforeSend` made it too large',
};

/** The application's hook threw. Its message is dropped, since sending it unchanged could leak data. */
export class BeforeSendThrew extends Error {
  constructor(cause: unknown) {
    super(`\`beforeSend\` threw ${thrownAt(cause)}`);
  }
}

/** The application's hook returned something that cannot be sent. */
export class WrongReturn extends Error {
  /** @param error the error for the caller, which names `beforeSend` */
  constructor(readonly error: InvalidMessageError) {
    super(error.message);
  }
}

/**
 * Runs the hook on a copy, so that its changes reach the message and not the caller's own objects.
 *
 * @param check throws for a message that cannot be routed
 * @throws {InvalidMessageError} for a message that JSON cannot hold
 * @throws {BeforeSendThrew}
 * @throws {WrongReturn}
 */
export function applyBeforeSend(
  beforeSend: BeforeSend,
  message: AnalyticsMessage,
  check?: (message: AnalyticsMessage) => void,
): AnalyticsMessage | null {
  const copy = checkMessage(JSON.parse(stringify({ ...message })));
  let returned: unknown;
  try {
    returned = beforeSend(copy);
  } catch (error) {
    throw new BeforeSendThrew(error);
  }
  if (returned === null) return null;
  if (!isJsonObject(returned)) throw new WrongReturn(notAMessage(returned));
  try {
    const checked = checkMessage(returned);
    check?.(checked);
    // Tried here, since later the caller would be blamed for values that the hook has nested in the message.
    stringify({ ...checked });
    return checked;
  } catch (error) {
    // A getter of the returned object threw.
    if (!(error instanceof InvalidMessageError)) throw new BeforeSendThrew(error);
    const text = `\`beforeSend\` returned a message that cannot be sent. ${error.message}`;
    throw new WrongReturn(new InvalidMessageError(error.field, text, { cause: error.cause }));
  }
}

function notAMessage(returned: unknown): InvalidMessageError {
  const isPromise = types.isPromise(returned);
  // An unhandled rejection would end the process.
  if (isPromise) returned.catch(() => undefined);
  return new InvalidMessageError(
    'beforeSend',
    `Expected \`beforeSend\` to return the message, or null to drop it, got ${describeKind(returned)}` +
      (isPromise ? ': it must be synchronous' : ''),
  );
}
