import type { OptionProblem } from '../errors/option-problem.js';
import { describeKind } from '../messages/value-kind.js';
import { closestName } from '../shared/closest-name.js';

/** Largest number of problems in a report. Customers fill in destinations, and an answer to them must not be huge. */
const MAX_PROBLEMS = 100;

interface NumberRule {
  /** Smallest allowed value. */
  min: number;
  /** Largest allowed value. */
  max?: number;
  integer?: boolean;
  /** Unit that an error names. */
  unit?: string;
}

/** What the names are called in an error, and which names belong somewhere else. */
export interface NameRules {
  kind?: string;
  elsewhere?: {
    readonly kind: string;
    readonly names: readonly string[];
    readonly expected: string;
    readonly given: string;
  };
}

/** Describes a value for an error message. Strings are quoted and cut. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return `${JSON.stringify(value.slice(0, 80))} (string)`;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') {
    return `${String(value)} (${typeof value})`;
  }
  return describeType(value);
}

/**
 * Describes only the type of a value, for options that may hold a secret, and for options that take an object or an
 * array: a text in their place is often a URL with a password.
 */
export function describeType(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value === '') return 'an empty string';
  return typeof value === 'object' ? describeKind(value) : `a value of type ${typeof value}`;
}

function isArray(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads options one by one with their defaults, and collects all problems, so that one error can report them. A wrong
 * option reads as its default, so that reading can go on to the end.
 */
export class OptionReader {
  constructor(
    private readonly values: Record<string, unknown>,
    private readonly prefix: string,
    readonly problems: OptionProblem[],
  ) {}

  path(name: string): string {
    return this.prefix === '' ? name : `${this.prefix}.${name}`;
  }

  get(name: string): unknown {
    return this.values[name];
  }

  report(name: string, expected: string, given: string): void {
    if (!this.isFull) this.problems.push({ path: this.path(name), expected, given });
  }

  private get isFull(): boolean {
    return this.problems.length >= MAX_PROBLEMS;
  }

  number(name: string, fallback: number, rule: NumberRule): number {
    const value = this.values[name];
    if (value === undefined) return fallback;
    const { min, max = Number.MAX_SAFE_INTEGER, integer = true, unit } = rule;
    if (
      typeof value === 'number' &&
      value >= min &&
      value <= max &&
      (integer ? Number.isInteger(value) : Number.isFinite(value))
    ) {
      return value;
    }
    const range = rule.max === undefined ? `>= ${min}` : `from ${min} to ${max}`;
    const kind = integer ? 'an integer' : 'a finite number';
    this.report(name, `${unit === undefined ? '' : `${unit}, `}${kind} ${range}`, describe(value));
    return fallback;
  }

  /** Reads a time. The error names the unit, in case it was given in seconds or as a text with a unit. */
  milliseconds(name: string, fallback: number, rule: Pick<NumberRule, 'min' | 'max'>): number {
    return this.number(name, fallback, { ...rule, unit: 'milliseconds' });
  }

  boolean(name: string, fallback: boolean): boolean {
    const value = this.values[name];
    if (value === undefined) return fallback;
    if (typeof value === 'boolean') return value;
    this.report(name, 'a boolean', describe(value));
    return fallback;
  }

  /** Reads a non-empty string; `undefined` if it is missing or wrong. Errors never show its value. */
  secret(name: string, hint = ''): string | undefined {
    const value = this.values[name];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '') return value;
    this.report(name, `a non-empty string${hint}`, describeType(value));
    return undefined;
  }

  /** Reads a required non-empty string; `''` if it is missing or wrong. */
  requiredString(name: string): string {
    const value = this.values[name];
    if (typeof value === 'string' && value !== '') return value;
    this.report(name, 'a non-empty string', describe(value));
    return '';
  }

  /** Like `requiredString`, for a value that errors never show. */
  requiredSecret(name: string): string {
    if (this.values[name] === undefined) this.report(name, 'a non-empty string', 'undefined');
    return this.secret(name) ?? '';
  }

  /** Reads an array; `undefined` if it is missing or wrong. */
  array(name: string, expected: string): unknown[] | undefined {
    const value = this.values[name];
    if (value === undefined) return undefined;
    if (isArray(value)) return value;
    this.report(name, expected, describeType(value));
    return undefined;
  }

  /**
   * Reads an array of at least one known name; all known names if it is missing.
   *
   * @param expected what an error expects instead of an unknown name. @default it lists all
   */
  names(
    name: string,
    known: readonly string[],
    kind: string,
    expected = `names of ${kind} (${known.join(', ')})`,
  ): string[] {
    const names = this.array(name, `an array of names of ${kind}`);
    if (names === undefined) return [...known];
    if (names.length === 0)
      this.report(name, `names of ${kind}, at least one; leave it out for all`, 'an empty array');
    return names.filter((one): one is string => {
      const isKnown = typeof one === 'string' && known.includes(one);
      if (!isKnown) this.report(name, expected, describe(one));
      return isKnown;
    });
  }

  /**
   * Reports unknown names: a misspelt option would otherwise be silently ignored.
   *
   * @param kind of the names. @default 'options'
   */
  onlyKnows(names: readonly string[], { kind = 'options', elsewhere }: NameRules = {}): void {
    for (const name of Object.keys(this.values).filter((one) => !names.includes(one))) {
      if (this.isFull) return;
      if (elsewhere?.names.includes(name) === true) {
        this.report(name, elsewhere.expected, elsewhere.given);
        continue;
      }
      const similar = closestName(name, [...names, ...(elsewhere?.names ?? [])]);
      const hint = similar === undefined ? '' : `; did you mean \`${similar}\`?`;
      const others =
        elsewhere === undefined ? '' : `, or one of the ${elsewhere.kind} ${elsewhere.names.join(', ')}`;
      this.report(name, `one of the ${kind} ${names.join(', ')}${others}`, `an unknown name${hint}`);
    }
  }
}
