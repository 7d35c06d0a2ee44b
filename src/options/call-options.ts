import type { OptionProblem } from '../errors/option-problem.js';
import { describeKind, isJsonObject } from '../messages/value-kind.js';
import { closestName } from '../shared/closest-name.js';
import { describe } from './option-reader.js';

/** Rule for one option of a call. */
export interface OptionRule {
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  /**
   * Whether the option may be left out. A `meant` option may be left out, but is refused if it is given as
   * `undefined`, which would mean all.
   * @default it may be left out, and `undefined` says so
   */
  readonly presence?: 'required' | 'meant';
}

/** The rules for the options of a call, by option name. */
export type OptionRules<T> = Readonly<Record<keyof T, OptionRule>>;

/** One wrong option of a call. */
export interface CallProblem extends OptionProblem {
  /** For an unknown name: what to write instead. */
  hint?: string;
}

export const TEXT: OptionRule = {
  expected: 'a string',
  accepts: (value) => typeof value === 'string',
};

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): OptionRule {
  return {
    expected: max === Number.MAX_SAFE_INTEGER ? `an integer >= ${min}` : `an integer from ${min} to ${max}`,
    accepts: (value) => typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max,
  };
}

/**
 * Returns everything that is wrong with the options of a call. Untyped code may pass anything, and a misspelt name
 * would otherwise be ignored.
 *
 * @param place name of the options object, for the error
 */
export function problemsOfCall(
  given: unknown,
  rules: Readonly<Record<string, OptionRule>>,
  place: string,
): CallProblem[] {
  // Only the type of a text is shown: it may be a URL with a password.
  if (!isJsonObject(given)) return [{ path: place, expected: 'an object', given: describeKind(given) }];
  // `in` also finds inherited options, for instances of a class.
  const asked = Object.keys(rules).filter((name) => name in given || rules[name]?.presence === 'required');
  return [...new Set([...Object.keys(given), ...asked])].flatMap((name) => {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) return unknownName(name, Object.keys(rules));
    const value = given[name];
    if (value === undefined ? rule.presence === undefined : rule.accepts(value)) return [];
    return { path: name, expected: rule.expected, given: describe(value) };
  });
}

/**
 * Describes a problem, without a final full stop if it has no hint.
 *
 * @param owner what has the options, as the beginning of a sentence: `A filter`
 */
export function textOf({ path, expected, given, hint }: CallProblem, owner: string): string {
  return hint === undefined
    ? `Expected \`${path}\` to be ${expected}, got ${given}`
    : `${owner} has no \`${path}\`. ${hint}`;
}

function unknownName(path: string, known: readonly string[]): CallProblem {
  const closest = closestName(path, known);
  return {
    path,
    expected: `one of the options ${known.join(', ')}`,
    given: closest === undefined ? 'an unknown name' : `an unknown name; did you mean \`${closest}\`?`,
    hint: closest === undefined ? `Its options are ${known.join(', ')}.` : `Did you mean \`${closest}\`?`,
  };
}
