import { isDeeper } from '../../shared/is-deeper.js';

/** Levels that are indented. Deeper ones would be mostly blanks: a few KB become many MB, with which no page works. */
const MAX_LEVELS = 20;

/** JSON to be read: indented, unless it is too deep for that. */
export function indented(value: unknown): string {
  return JSON.stringify(value, null, isDeeper(value, MAX_LEVELS) ? undefined : 2);
}
