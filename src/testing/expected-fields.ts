import { keepContents } from '../messages/json-contents.js';

/** Stands for a field that is expected to be `undefined`: JSON leaves it out of the recorded message. */
const ABSENT = Symbol('absent');

/** Types of values that JSON leaves out of an object. */
const LEFT_OUT = new Set(['undefined', 'function', 'symbol']);

/** Compares two values deeply. The testers may decide first. */
export type Equals = (a: unknown, b: unknown, testers: readonly unknown[]) => boolean;

/**
 * Returns the fields that a test expects in the form in which they are recorded: as JSON converts the fields of the
 * call. Matchers such as `expect.any(Number)` stay as they are.
 */
export function asRecorded(fields: object): unknown {
  // Prefix of texts that stand for values that JSON cannot hold. No text of a test begins with it.
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

/** Returns a tester for objects with fields that are expected to be absent. It leaves all others to the next tester. */
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
