import type { OptionProblem } from '../errors/option-problem.js';
import { describeKind } from '../messages/value-kind.js';

const MAX_HEADERS = 5;

/** RFC 9110, section 5.6.2: the characters of a header name. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const PRINTABLE = /^[\x20-\x7e]*$/;

/** Names that would break the framing of the request, or that this module sets itself. */
const RESERVED = new Set([
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'te',
  'trailer',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'user-agent',
  'accept-encoding',
  'x-signature',
]);

const RESERVED_PREFIXES = ['proxy-', 'webhook-'];

/** Whether a customer must not set this header. Names are case-insensitive. */
export function isReservedHeader(name: string): boolean {
  const key = name.toLowerCase();
  return RESERVED.has(key) || RESERVED_PREFIXES.some((prefix) => key.startsWith(prefix));
}

/**
 * Checks a destination's static headers.
 *
 * @returns one problem for each broken rule; empty when the headers may be sent
 */
export function headerProblems(headers: Readonly<Record<string, unknown>>): OptionProblem[] {
  const entries = Object.entries(headers);
  const problems: OptionProblem[] = [];
  if (entries.length > MAX_HEADERS) {
    problems.push({
      path: 'headers',
      expected: `at most ${MAX_HEADERS} headers`,
      given: `${entries.length}`,
    });
  }
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const path = `headers[${JSON.stringify(name)}]`;
    const problem = nameProblem(name, seen) ?? valueProblem(value);
    if (problem !== undefined) problems.push({ path, ...problem });
    seen.add(name.toLowerCase());
  }
  return problems;
}

type Problem = Omit<OptionProblem, 'path'>;

function nameProblem(name: string, seen: ReadonlySet<string>): Problem | undefined {
  if (!TOKEN.test(name)) {
    return {
      expected: 'a header name of letters, digits and hyphens',
      given: 'an empty name, or one with other characters',
    };
  }
  if (isReservedHeader(name)) {
    return {
      expected: 'a header of your own',
      given: 'a reserved header: it is set automatically or not allowed',
    };
  }
  if (seen.has(name.toLowerCase())) {
    return { expected: 'each header once', given: 'a name that differs from another only in its case' };
  }
  return undefined;
}

function valueProblem(value: unknown): Problem | undefined {
  if (typeof value !== 'string') return { expected: 'a string', given: describeKind(value) };
  if (!PRINTABLE.test(value)) {
    return { expected: 'printable ASCII', given: 'a line break, control character or non-ASCII character' };
  }
  if (value !== value.trim()) {
    return { expected: 'no blank at either end', given: 'a leading or trailing blank' };
  }
  return undefined;
}
