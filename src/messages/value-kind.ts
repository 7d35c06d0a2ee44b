import { types } from 'node:util';
import type { JsonObject } from './message.types.js';

/** Objects whose content JSON does not keep as keys and values. Asked of the engine, not of `instanceof`, which fails across realms. */
const KINDS_WITHOUT_KEYS: readonly (readonly [kind: string, is: (value: object) => boolean])[] = [
  ['an array', Array.isArray],
  ['a Date', types.isDate],
  ['a Map', types.isMap],
  ['a Set', types.isSet],
  ['a Promise', types.isPromise],
  ['a RegExp', types.isRegExp],
  ['a boxed primitive', types.isBoxedPrimitive],
  ['binary data', (value) => ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)],
];

/** Whether JSON makes an object of a value, with its own keys: a plain object or an instance of a class. */
export function isJsonObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype || kindWithoutKeys(value) === undefined;
}

/** Names the kind of a value for an error text: never the value, which may be personal data. */
export function describeKind(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (value === '') return 'an empty string';
  if (typeof value === 'object') return kindWithoutKeys(value) ?? 'an object';
  return `a ${typeof value}`;
}

function kindWithoutKeys(value: object): string | undefined {
  return KINDS_WITHOUT_KEYS.find(([, is]) => is(value))?.[0];
}
