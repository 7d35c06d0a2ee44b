/** Checks that the union of codes matches the error classes: no code and no class is missing. Nothing here is run. */
import type * as audience from '../../src/errors/audience.errors.js';
import type * as consoleErrors from '../../src/errors/console.errors.js';
import type * as delivery from '../../src/errors/delivery.errors.js';
import type * as destination from '../../src/errors/destination.errors.js';
import type * as embeddedQueue from '../../src/errors/embedded-queue.errors.js';
import type * as message from '../../src/errors/message.errors.js';
import type * as outbox from '../../src/errors/outbox.errors.js';
import type * as receiver from '../../src/errors/receiver.errors.js';
import type * as setup from '../../src/errors/setup.errors.js';
import type * as testing from '../../src/errors/testing.errors.js';
import type { AnalyticsErrorCode } from '../../src/index.js';

type CodesOf<Errors> = {
  [Name in keyof Errors]: Errors[Name] extends abstract new (...parts: never[]) => { code: infer Code }
    ? Code
    : never;
}[keyof Errors];

type Classes = CodesOf<
  typeof audience &
    typeof consoleErrors &
    typeof delivery &
    typeof destination &
    typeof embeddedQueue &
    typeof message &
    typeof outbox &
    typeof receiver &
    typeof setup &
    typeof testing
>;

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

export const isComplete: Same<Classes, AnalyticsErrorCode> = true;

/** Branches on a code as an application does. The compiler refuses a code that does not exist. */
export function isOfACall(code: AnalyticsErrorCode): boolean {
  // @ts-expect-error no error has this code
  if (code === 'NO_SUCH_CODE') return false;
  return code === 'INVALID_MESSAGE' || code === 'MESSAGE_TOO_LARGE';
}
