import { keepContents } from '../messages/json-contents.js';

/** Stands for a field that is expected to be `undefined`: JSON leaves it out of what is recorded. */
const ABSENT = Symbol('absent');

/** What JSON leaves out of an object. */
const LEFT_OUT = new Set(['undefined', 'function', 'symbol']);

/** Compares in depth, with testers that may decide before. */
export type Equals = (a: unknown, b: unknown, testers: readonly unknown[]) => boolean;

/**
 * Fields that a test expects, in the form in which they are recorded: the one that JSON gives to what the call was
 * given. Matchers such as `expect.any(Number)` stay as they are.
 */
export function asRecorded(fields: object): unknown {
  // Texts that stand for what JSON cannot hold. No text of a test is like them.
  const mark = `${Math.random()}:`;
  const kept: unknown[] = [];
  const keep = (value: unknown): string => `${mark}${kept.push(value) - 1}`;
  const json = JSON.stringify(fields, function (this: unknown, key: string, value: unknown): unknown {
    if (isMatcher(value)) return keep(value);
    if (LEFT_OUT.has(typeof value) && !Array.isArray(this)) return keep(ABSENT);
    return typeof value === 'string' ? value.toWellFormed() : keepContents(key, value);
  });
  return JSON.parse(json, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? kept[Number(value.slice(mark.length))] : value,
  );
}

/** A tester for objects with fields that are expected to be absent; it leaves all others to the next one. */
export function absenceTester(equals: Equals, others: readonly unknown[]): unknown {
  const tester = (recorded: unknown, expected: unknown): boolean | undefined => {
    if (typeof expected !== 'object' || expected === null || isMatcher(expected)) return undefined;
    const entries = Object.entries(expected);
    const present = entries.filter(([, value]) => value !== ABSENT);
    if (present.length === entries.length) return undefined;
    const isAbsent = ([key, value]: [string, unknown]): boolean =>
      value !== ABSENT || typeof recorded !== 'object' || recorded === null || !Object.hasOwn(recorded, key);
    return entries.every(isAbsent) && equals(recorded, Object.fromEntries(present), [tester, ...others]);
  };
  return tester;
}

function isMatcher(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'asymmetricMatch' in value;
}
