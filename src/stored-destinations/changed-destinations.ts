import { isDeepStrictEqual } from 'node:util';
import type { DestinationRecord } from '../options/destination-store.js';
import { FIELDS } from './stores/destination-fields.js';

type FieldName = Exclude<keyof DestinationRecord, 'id'>;

/** All fields but the id. A record of an application's own store may have others, which do not matter here. */
const NAMES = [...Object.keys(FIELDS), 'tenant', 'urls', 'createdAt', 'updatedAt', 'version'] as FieldName[];

/** Whether two answers of a store about one id say the same. */
export function isUnchanged(
  before: DestinationRecord | 'deleted' | undefined,
  after: DestinationRecord | 'deleted' | undefined,
): boolean {
  if (typeof before !== 'object' || typeof after !== 'object') return before === after;
  // Fields may be inherited, or be read by accessors.
  return before === after || NAMES.every((name) => isDeepStrictEqual(before[name], after[name]));
}

/** Returns the ids of the destinations that are only in one of two lists, or differ. */
export function changedAmong(
  before: readonly DestinationRecord[],
  after: readonly DestinationRecord[],
): ReadonlySet<string> {
  const known = new Map(before.map((record) => [record.id, record]));
  const found = new Map(after.map((record) => [record.id, record]));
  const ids = new Set([...known.keys(), ...found.keys()]);
  return new Set([...ids].filter((id) => !isUnchanged(known.get(id), found.get(id))));
}
