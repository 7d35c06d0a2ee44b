import { isDeeper } from '../../shared/is-deeper.js';

/** Maximum depth of indented JSON. Deeper JSON would be mostly blanks: a few KB become many MB, too much for a page. */
const MAX_LEVELS = 20;

/** Returns JSON for a reader: indented, unless it is too deep for that. */
export function indented(value: unknown): string {
  return JSON.stringify(value, null, isDeeper(value, MAX_LEVELS) ? undefined : 2);
}
