import { AudienceNameTakenError, InvalidAudienceNameError } from '../errors/audience.errors.js';
import { describeKind, isJsonObject } from '../messages/value-kind.js';
import type { AudienceDefinition, AudienceKind } from '../options/audience-store.js';
import { UNSTORABLE } from './trait-entries.js';

/** Maximum length of a name, in UTF-16 code units. The name becomes a key in the database. */
const MAX_LENGTH = 200;

/**
 * A combining mark, which belongs to the letter before it. Variation selectors, which only change how a
 * symbol is drawn, are not included.
 */
const MARK = '(?![\\ufe00-\\ufe0f])[\\p{Mn}\\p{Mc}]';
/** Match where a word begins without a space before it, as in `bigSpenders` and `VIPUsers`. */
const LOWER_UPPER = new RegExp(`([\\p{Ll}\\d](?:${MARK})*)(?=\\p{Lu})`, 'gu');
const UPPER_UPPER = new RegExp(`(\\p{Lu}(?:${MARK})*)(?=\\p{Lu}(?:${MARK})*\\p{Ll})`, 'gu');
const WORDS = new RegExp(`(?:[\\p{L}\\d](?:${MARK})*)+`, 'gu');

/** @throws InvalidAudienceNameError */
export function definitionOf(name: string, kind: AudienceKind, source?: string): AudienceDefinition {
  return { trait: traitOf(name), name, kind, ...(source !== undefined && { source }) };
}

/**
 * Returns the property that an audience is sent as: its name in snake_case. The result is the same on every machine,
 * whatever its locale, and for every Unicode composition of the same letters.
 *
 * @throws InvalidAudienceNameError for a name without a letter or a digit
 */
export function traitOf(name: string): string {
  if (typeof name !== 'string') throw new InvalidAudienceNameError(describeKind(name));
  const words = name.normalize('NFC').replace(LOWER_UPPER, '$1 ').replace(UPPER_UPPER, '$1 ').match(WORDS);
  if (words === null || name.length > MAX_LENGTH || UNSTORABLE.test(name)) {
    throw new InvalidAudienceNameError(JSON.stringify(name.slice(0, MAX_LENGTH)));
  }
  return words.join('_').toLowerCase();
}

/** @throws AudienceNameTakenError when another audience or computed trait is registered under this trait */
export function refuseOther(audience: AudienceDefinition, owner: AudienceDefinition): void {
  if (owner.name === audience.name && owner.kind === audience.kind) return;
  throw new AudienceNameTakenError(audience.name, audience.trait, owner);
}

/** Reads a definition that was stored as JSON or as a row. */
export function parseDefinition(stored: unknown): AudienceDefinition {
  const value: unknown = typeof stored === 'string' ? JSON.parse(stored) : stored;
  const { trait, name, kind, source, earlierSources } = isJsonObject(value) ? value : {};
  if (typeof trait !== 'string' || typeof name !== 'string' || (kind !== 'audience' && kind !== 'trait')) {
    throw new Error('The audience store holds a definition that this version cannot read');
  }
  const earlier = Array.isArray(earlierSources) ? earlierSources.map(String) : [];
  return {
    trait,
    name,
    kind,
    ...(typeof source === 'string' && { source }),
    ...(earlier.length > 0 && { earlierSources: earlier }),
  };
}

/** Returns the names of the sources that an audience's calls came from; `undefined` stands for an unknown source. */
export function sourcesOf({ source, earlierSources = [] }: AudienceDefinition): (string | undefined)[] {
  return [source, ...earlierSources];
}
