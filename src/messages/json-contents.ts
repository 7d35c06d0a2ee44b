import { types } from 'node:util';
import type { JsonObject } from './message.types.js';
import { kindWithoutFields } from './value-kind.js';

/**
 * Whether there is a `{}` below the fields of the body; JSON also writes a `Set` like that. Nearly always there is no
 * `{}`, and the body need not be searched.
 */
export function mayHideContents(body: JsonObject, json: string): boolean {
  if (!json.includes('{}')) return false;
  const empty = Object.values(body).filter(
    (value) => isPlainObject(value) && JSON.stringify(value) === '{}',
  ).length;
  return json.split('{}').length - 1 > empty;
}

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Tells JSON what to write for objects that have content but no fields. */
export function keepContents(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isPlainObject(value) || Array.isArray(value))
    return value;
  if (types.isBoxedPrimitive(value) || ArrayBuffer.isView(value)) return value;
  const kind = kindWithoutFields(value);
  if (kind === undefined) return value;
  if (types.isNativeError(value)) return { name: value.name, message: value.message };
  if (types.isSet(value)) return [...value];
  if (types.isMap(value)) return objectOfMap(value);
  throw new UnserializableKind(kind);
}

function objectOfMap(map: ReadonlyMap<unknown, unknown>): object {
  const entries = [...map].map(([key, value]) => {
    if (typeof key !== 'string' && typeof key !== 'number')
      throw new UnserializableKind('a Map with keys that are not text');
    return [key, value] as const;
  });
  return Object.fromEntries(entries);
}

/** Thrown for an object whose content has no form in JSON. Its message names the kind. */
export class UnserializableKind extends Error {}
