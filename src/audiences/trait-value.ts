import { createHash } from 'node:crypto';
import { stringify } from '../messages/serialize.js';
import { isJsonObject } from '../messages/value-kind.js';

/** The fingerprint of every member of an audience. */
const TRUE = 'true';
/** Longest JSON that is its own fingerprint; of a longer one a hash of this length is kept. */
const MAX_LENGTH = 43;

/**
 * A short text that is the same for equal values, also where objects have their keys in another order.
 * `undefined` for a value that stands for none: `null`, and what JSON leaves out.
 *
 * @throws InvalidMessageError for what JSON cannot hold
 */
export function fingerprintOf(value: unknown): string | undefined {
  if (value === true) return TRUE;
  const plain: unknown = JSON.parse(stringify({ value }));
  const json = JSON.stringify(isJsonObject(plain) ? plain.value : undefined, sortKeys) as string | undefined;
  if (json === undefined || json === 'null') return undefined;
  return json.length <= MAX_LENGTH ? json : createHash('sha256').update(json).digest('base64url');
}

function sortKeys(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
