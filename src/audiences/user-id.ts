import { InvalidMessageError } from '../errors/invalid-message.error.js';
import { describeKind } from '../messages/value-kind.js';

/** An id is a key of the store; no database takes one of any length. */
const MAX_BYTES = 1_024;

/** What not every store can hold: NUL, and halves of characters. */
const UNSTORABLE = /\0|\p{Surrogate}/u;

/**
 * Checks the id of a member, which in JavaScript may be anything.
 *
 * @throws InvalidMessageError
 */
export function checkUserId(userId: unknown): asserts userId is string {
  if (typeof userId !== 'string' || userId === '') {
    throw new InvalidMessageError(
      'userId',
      `Expected \`userId\` to be a non-empty string, got ${describeKind(userId)}`,
    );
  }
  if (UNSTORABLE.test(userId) || Buffer.byteLength(userId) > MAX_BYTES) {
    throw new InvalidMessageError(
      'userId',
      `Expected \`userId\` of a member to be at most ${MAX_BYTES} bytes of text, without NUL and halves of characters`,
    );
  }
}
