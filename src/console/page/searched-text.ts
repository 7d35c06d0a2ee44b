import type { LiveEvent } from '../../live/live-event.js';

/** A string, whole or cut off, or blanks outside of strings. */
const STRING_OR_BLANKS = /("(?:[^"\\]|\\.)*(?:"|$))|\s+/g;

/** What is looked through for a call: what it says, and not what its fields are called. */
export function searchedIn(call: LiveEvent): string {
  const { outcome, reason, source, tenant, type, name, userId, anonymousId, messageId, json } = call;
  return [outcome, reason, source, tenant, type, name, userId, anonymousId, messageId, json]
    .filter((value) => value !== undefined)
    .join('\n')
    .toLowerCase();
}

/** Whether a text is in what is looked through. JSON is found as it is indented on the page, too. */
export function searchFor(text: string): (searched: string) => boolean {
  const wanted = text.toLowerCase();
  const compact = wanted.replace(STRING_OR_BLANKS, '$1');
  return (searched) => searched.includes(wanted) || (wanted.includes('"') && searched.includes(compact));
}
