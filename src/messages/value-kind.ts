import { types } from 'node:util';
import type { JsonObject } from './message.types.js';

/**
 * Objects whose content JSON does not keep as keys and values. The engine is asked, since `instanceof` fails
 * across realms.
 */
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

/** Any character except blanks, control characters and those without a width. */
const VISIBLE = /[^\s\p{Z}\p{Cc}\p{Cf}]/u;

/** Whether a text shows nothing: an id or a name of blanks is a mistake. */
export function isBlank(text: string): boolean {
  // Nearly every text begins with a letter or a digit, so that one look is enough.
  const first = text.charCodeAt(0);
  return !(first > 0x20 && first < 0x7f) && !VISIBLE.test(text);
}

/** Whether JSON writes a value as an object with its own keys: a plain object or an instance of a class. */
export function isJsonObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype || kindWithoutKeys(value) === undefined;
}

/** Names the kind of a value for an error message: never the value, which may be personal data. */
export function describeKind(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (value === '') return 'an empty string';
  if (typeof value === 'string' && isBlank(value)) return 'a string of blanks';
  if (typeof value === 'object') return kindWithoutKeys(value) ?? 'an object';
  return `a ${typeof value}`;
}

/**
 * The kind of an object that JSON writes as `{}` although it has content: an `Error`, `Headers`, a `WeakMap`
 * and other built-in objects without fields of their own.
 */
export function kindWithoutFields(value: object): string | undefined {
  if (Object.keys(value).length > 0 || typeof Reflect.get(value, 'toJSON') === 'function') return undefined;
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (tag === 'Object') return undefined;
  return `${/^[AEIO]/.test(tag) ? 'an' : 'a'} ${tag}`;
}

function kindWithoutKeys(value: object): string | undefined {
  return KINDS_WITHOUT_KEYS.find(([, is]) => is(value))?.[0] ?? kindWithoutFields(value);
}
