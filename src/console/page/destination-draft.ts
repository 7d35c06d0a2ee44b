import type { DestinationDetails } from '../../stored-destinations/destinations.types.js';
import type { Fields } from './api-requests.js';
import { fieldsOf, removalOf, type Texts, textsOf } from './destination-fields.js';

/** A destination that the reader is changing or adding. */
export interface Draft {
  /** The destination without the changes; `undefined` for a new destination. */
  base: DestinationDetails | undefined;
  /** Typed texts, by the names of the fields. */
  typed: Texts;
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
 * fields. Leaves out a field that now has the typed text, as after a change whose answer was lost. Headers count as
 * changed after any change of a destination that has headers: their values may be different, and are not shown.
 */
export function changedMeanwhile(draft: Draft, latest: DestinationDetails): Texts {
  const before = comparedTexts(draft.base);
  const now = comparedTexts(latest);
  const mayHaveOthers = latest.version !== draft.base?.version && now.headers !== '';
  const isOther = (name: string): boolean =>
    (name === 'headers' && mayHaveOthers) ||
    (now[name] !== before[name] && now[name] !== draft.typed[name]?.trim());
  return Object.fromEntries(
    changedIn(draft)
      .filter(isOther)
      .map((name) => [name, now[name] ?? '']),
  );
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
