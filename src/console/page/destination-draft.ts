import type { DestinationDetails } from '../../stored-destinations/destinations.types.js';
import type { Fields } from './api-requests.js';
import { fieldsOf, removalOf, type Texts, textsOf } from './destination-fields.js';

/** A destination that somebody changes, or adds. */
export interface Draft {
  /** As it is without the changes; `undefined` for a new one. */
  base: DestinationDetails | undefined;
  /** What was typed, by the names of the fields. */
  typed: Texts;
}

/** What the fields show. */
export function textsIn({ base, typed }: Draft): Texts {
  return { ...textsOf(base), ...typed };
}

/** What is sent: the fields that were changed, or all of a new destination. @throws ApiError as `fieldsOf` */
export function fieldsIn(draft: Draft): Fields {
  const { base } = draft;
  const fields = fieldsOf(textsIn(draft), base);
  if (base === undefined) return fields;
  return Object.fromEntries(changedIn(draft).map((name) => [name, fields[name]]));
}

/**
 * What is not any more as it was where a field was changed in the draft as well: what that is now, by the fields. None of
 * those that have become what was typed, as where a change was made whose answer did not come. Headers are among them after
 * any change of a destination that has some: each may have another value, and values are not shown.
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

/** The draft over what its destination is now, unless somebody else has changed the same fields. */
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

/** Of the headers, the values are not known. */
function comparedTexts(destination: DestinationDetails | undefined): Texts {
  return { ...textsOf(destination), headers: destination?.headers?.join(', ') ?? '' };
}
