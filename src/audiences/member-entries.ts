import { InvalidMessageError } from '../errors/invalid-message.error.js';
import type { TraitEntry } from './entry-chunks.js';

/** The entries of an audience: `true` for each of its members. */
export async function* trueForEach(
  members: Iterable<string> | AsyncIterable<string>,
): AsyncGenerator<TraitEntry, void> {
  // A string is an iterable too, of its letters: no audience is meant by that.
  if (typeof members === 'string') {
    throw new InvalidMessageError(
      'members',
      'Expected `members` to be an iterable of user ids, got a string',
    );
  }
  for await (const userId of members) yield [userId, true];
}
