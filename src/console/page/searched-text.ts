import type { LiveEvent } from '../../live/live-event.js';

/** Matches a JSON string, whole or cut off, or blanks outside of strings. */
const STRING_OR_BLANKS = /("(?:[^"\\]|\\.)*(?:"|$))|\s+/g;

/** Returns the text of a call that is searched: the values of its fields, without their names. */
export function searchedIn(call: LiveEvent): string {
  const { outcome, reason, source, tenant, type, name, userId, anonymousId, messageId, json } = call;
  return [outcome, reason, source, tenant, type, name, userId, anonymousId, messageId, json]
    .filter((value) => value !== undefined)
    .join('\n')
    .toLowerCase();
}

/** Returns a function that tells whether a searched text contains the text. JSON may be indented, as on the page. */
export function searchFor(text: string): (searched: string) => boolean {
  const wanted = text.toLowerCase();
  const compact = wanted.replace(STRING_OR_BLANKS, '$1');
  return (searched) => searched.includes(wanted) || (wanted.includes('"') && searched.includes(compact));
}
