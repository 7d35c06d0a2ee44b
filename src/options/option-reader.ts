import type { OptionProblem } from '../errors/invalid-options.error.js';

interface NumberRule {
  /** Smallest allowed value. */
  min: number;
  /** Largest allowed value. */
  max?: number;
  integer?: boolean;
}

/** Tells a value for an error text; strings are quoted and cut. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return `${JSON.stringify(value.slice(0, 80))} (string)`;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') {
    return `${String(value)} (${typeof value})`;
  }
  return describeType(value);
}

/** Tells only the type of a value, for options that may hold a secret. */
export function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value === '') return 'an empty string';
  return typeof value === 'object' ? 'an object' : `a value of type ${typeof value}`;
}

function isArray(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads options one by one with their defaults and collects what is wrong, so that one error can tell
 * all of it. A wrong option reads as its default: the reading goes on, the error comes at the end.
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
    this.problems.push({ path: this.path(name), expected, given });
  }

  number(name: string, fallback: number, rule: NumberRule): number {
    const value = this.values[name];
    if (value === undefined) return fallback;
    const { min, max = Number.MAX_SAFE_INTEGER, integer = true } = rule;
    if (
      typeof value === 'number' &&
      value >= min &&
      value <= max &&
      (integer ? Number.isInteger(value) : Number.isFinite(value))
    ) {
      return value;
    }
    const range = rule.max === undefined ? `>= ${min}` : `from ${min} to ${max}`;
    this.report(name, `${integer ? 'an integer' : 'a finite number'} ${range}`, describe(value));
    return fallback;
  }

  boolean(name: string, fallback: boolean): boolean {
    const value = this.values[name];
    if (value === undefined) return fallback;
    if (typeof value === 'boolean') return value;
    this.report(name, 'a boolean', describe(value));
    return fallback;
  }

  /** A non-empty string, or `undefined` where it is not given or wrong. Its value is never told. */
  secret(name: string, hint = ''): string | undefined {
    const value = this.values[name];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '') return value;
    this.report(name, `a non-empty string${hint}`, describeType(value));
    return undefined;
  }

  /** A non-empty string that must be given; `''` where it is not. */
  requiredString(name: string): string {
    const value = this.values[name];
    if (typeof value === 'string' && value !== '') return value;
    this.report(name, 'a non-empty string', describe(value));
    return '';
  }

  /** As `requiredString`, for a value that is never told. */
  requiredSecret(name: string): string {
    if (this.values[name] === undefined) this.report(name, 'a non-empty string', 'undefined');
    return this.secret(name) ?? '';
  }

  /** An array, or `undefined` where it is not given or wrong. */
  array(name: string, expected: string): unknown[] | undefined {
    const value = this.values[name];
    if (value === undefined) return undefined;
    if (isArray(value)) return value;
    this.report(name, expected, describe(value));
    return undefined;
  }

  /** Reports names that no option has: a misspelt option would otherwise be silently without effect. */
  onlyKnows(names: readonly string[]): void {
    for (const name of Object.keys(this.values)) {
      if (!names.includes(name))
        this.report(name, `one of the options ${names.join(', ')}`, 'an unknown name');
    }
  }
}
