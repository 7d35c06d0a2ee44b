import { snakeCase } from 'change-case';
import { InvalidAudienceNameError } from '../errors/invalid-audience-name.error.js';
import { describeKind } from '../messages/value-kind.js';

/** Longest name, in characters of JavaScript: it becomes a key of the database. */
const MAX_LENGTH = 200;

/**
 * The property that an audience is sent as: its name in snake_case. The same on every machine, whatever
 * its locale, and however the letters of the name are composed.
 *
 * @throws InvalidAudienceNameError for a name without a letter or a digit
 */
export function traitOf(name: string): string {
  if (typeof name !== 'string') throw new InvalidAudienceNameError(describeKind(name));
  const trait = snakeCase(name.normalize('NFC'), { locale: false });
  if (trait === '' || name.length > MAX_LENGTH) {
    throw new InvalidAudienceNameError(JSON.stringify(name.slice(0, MAX_LENGTH)));
  }
  return trait;
}
