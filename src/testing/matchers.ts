import { describeKind } from '../messages/value-kind.js';
import { absenceTester, asRecorded, type Equals } from './expected-fields.js';
import type { RecordedAnalytics } from './recorded-analytics.js';

/** What Jest and vitest both give a matcher as its `this`. */
interface MatcherContext {
  isNot?: boolean | undefined;
  customTesters?: readonly unknown[];
  equals(a: unknown, b: unknown, customTesters?: readonly unknown[]): boolean;
  utils: {
    iterableEquality: unknown;
    subsetEquality: unknown;
    matcherHint: (name: string, received?: string, expected?: string, options?: object) => string;
    printExpected: (value: unknown) => string;
    printReceived: (value: unknown) => string;
  };
}

interface MatcherResult {
  pass: boolean;
  message: () => string;
}

/** A recorded call, as a matcher compares and prints it. */
type Recorded = [name: string | undefined, fields: object];

/** Matchers for `expect.extend`, if `expect` is not global and so was not found. */
export const analyticsMatchers = {
  toHaveTracked(this: MatcherContext, received: unknown, event: string, properties?: object): MatcherResult {
    const tracked = recordedIn(received, 'toHaveTracked')
      .messages.filter((message) => message.type === 'track')
      .map(({ event: name, properties: fields }): Recorded => [name, fields]);
    return compare(this, { matcher: 'toHaveTracked', recorded: tracked, name: event, fields: properties });
  },

  toHaveIdentified(this: MatcherContext, received: unknown, userId: string, traits?: object): MatcherResult {
    const identified = recordedIn(received, 'toHaveIdentified')
      .messages.filter((message) => message.type === 'identify')
      .map((message): Recorded => [message.userId, message.traits]);
    return compare(this, { matcher: 'toHaveIdentified', recorded: identified, name: userId, fields: traits });
  },
};

function recordedIn(received: unknown, matcher: string): Pick<RecordedAnalytics, 'messages'> {
  if (isRecorded(received)) return received;
  throw new TypeError(`${matcher}: expected a \`RecordedAnalytics\`, got ${describeKind(received)}`);
}

/** Checks the shape, not the class: a test may load another copy of this package than the application does. */
function isRecorded(value: unknown): value is Pick<RecordedAnalytics, 'messages'> {
  return typeof value === 'object' && value !== null && 'messages' in value && Array.isArray(value.messages);
}

interface Comparison {
  matcher: string;
  recorded: readonly Recorded[];
  name: string;
  fields: object | undefined;
}

function compare(context: MatcherContext, { matcher, recorded, name, fields }: Comparison): MatcherResult {
  const { utils, customTesters = [], isNot = false } = context;
  const equals: Equals = (a, b, testers) => context.equals(a, b, testers);
  const others = [...customTesters, utils.iterableEquality, utils.subsetEquality];
  const testers = [absenceTester(equals, others), ...others];
  const expected = fields && asRecorded(fields);
  const pass = recorded.some(
    ([otherName, given]) =>
      otherName === name && (expected === undefined || equals(given, expected, testers)),
  );
  const message = (): string => {
    const lines = recorded.map(
      ([otherName, others]) => `  ${printed(utils.printReceived, otherName, others)}`,
    );
    return [
      utils.matcherHint(matcher, 'recorded', fields === undefined ? 'name' : 'name, fields', { isNot }),
      '',
      `Expected: ${isNot ? 'not ' : ''}${printed(utils.printExpected, name, fields)}`,
      ...(lines.length === 0 ? ['Recorded: none'] : ['Recorded:', ...lines]),
    ].join('\n');
  };
  return { pass, message };
}

function printed(print: (value: unknown) => string, name: unknown, fields: object | undefined): string {
  return fields === undefined ? print(name) : `${print(name)} ${print(fields)}`;
}
