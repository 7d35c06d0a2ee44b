import type { DestinationDetails } from '../../stored-destinations/destinations.types.js';
import type { Fields } from './api-requests.js';
import { fieldsOf, removalOf, type Texts, textsOf } from './destination-fields.js';

/** A destination that the reader is changing or adding. */
export interface Draft {
  /** The destination without the changes; `undefined` for a new destination. */
  base: DestinationDetails | undefined;
  /** Typed texts, by the names of the fields. */
  typed: Texts;
  /** What was sent last, if no answer came: it may have been stored. */
  unanswered?: Unanswered;
}

/** Fields that were sent, and the version of the destination that they were based on. */
export interface Unanswered {
  fields: Fields;
  version: number;
}

/** Returns the texts that the fields show. */
export function textsIn({ base, typed }: Draft): Texts {
  return { ...textsOf(base), ...typed };
}

/** Returns the fields to send: the changed ones, or all of a new destination. @throws ApiError as `fieldsOf` */
export function fieldsIn(draft: Draft): Fields {
  const { base } = draft;
  const fields = fieldsOf(textsIn(draft), base);
  if (base === undefined) return fields;
  return Object.fromEntries(changedIn(draft).map((name) => [name, fields[name]]));
}

/**
 * Returns the current texts of the fields that both the draft and somebody else have changed, by the names of the
 * fields. Leaves out a field that now has the typed text, and a field that a save without an answer has changed.
 * Headers count as changed after any change of a destination that has headers: their values may be different, and are
 * not shown.
 */
export function changedMeanwhile(draft: Draft, latest: DestinationDetails): Texts {
  const before = comparedTexts(draft.base);
  const now = comparedTexts(latest);
  const mayHaveOthers = latest.version !== draft.base?.version && now.headers !== '';
  const isOwn = ownIn(draft.unanswered, latest);
  const isOther = (name: string): boolean =>
    !isOwn(name) &&
    ((name === 'headers' && mayHaveOthers) ||
      (now[name] !== before[name] && now[name] !== draft.typed[name]?.trim()));
  return Object.fromEntries(
    changedIn(draft)
      .filter(isOther)
      .map((name) => [name, now[name] ?? '']),
  );
}

/** Returns whether a field of the destination is as it was sent without an answer. */
function ownIn(unanswered: Unanswered | undefined, latest: DestinationDetails): (name: string) => boolean {
  if (unanswered === undefined) return () => false;
  const { fields, version } = unanswered;
  const stored: Fields = { ...fieldsOf(textsOf(latest), latest), headers: latest.headers };
  const isStored = (name: string): boolean =>
    name in fields && isSame(name === 'headers' ? headerNames(fields.headers) : fields[name], stored[name]);
  // The values of headers are not known: the next version, with all that was sent, is taken for the own one.
  const isNext = latest.version === version + 1 && Object.keys(fields).every(isStored);
  return (name) => (name === 'headers' ? isNext && 'headers' in fields : isStored(name));
}

function headerNames(headers: unknown): string[] {
  return Object.keys(headers ?? {});
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Bases the draft on the latest version of its destination, unless somebody else has changed the same fields. */
export function follow(draft: Draft, latest: DestinationDetails | undefined): Draft {
  const { base } = draft;
  if (base === undefined || latest === undefined || latest.version <= base.version) return draft;
  const isFree = Object.keys(changedMeanwhile(draft, latest)).length === 0;
  return isFree ? { ...draft, base: latest } : draft;
}

function changedIn({ base, typed }: Draft): string[] {
  const before = textsOf(base);
  const names = Object.keys(before).filter(
    (name) => typed[name] !== undefined && typed[name] !== before[name],
  );
  // An empty text keeps the headers.
  const hasHeaders = [typed.headers, typed[removalOf('headers')]].some((text = '') => text.trim() !== '');
  return hasHeaders ? [...names, 'headers'] : names;
}

/** Returns the texts of a destination for a comparison. Headers are compared by name: their values are not known. */
function comparedTexts(destination: DestinationDetails | undefined): Texts {
  return { ...textsOf(destination), headers: destination?.headers?.join(', ') ?? '' };
}
