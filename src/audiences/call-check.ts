import { InvalidMessageError } from '../errors/message.errors.js';
import { unexpected } from '../messages/message-checks.js';
import { isJsonObject } from '../messages/value-kind.js';
import { type OptionRule, type OptionRules, problemsOfCall, TEXT, textOf } from '../options/call-options.js';
import type { AudienceCallOptions, AudienceDeleteOptions, AudienceSyncOptions } from './audiences.types.js';

const CALL: OptionRules<AudienceCallOptions> = {
  source: TEXT,
  integrations: { expected: 'an object', accepts: isJsonObject },
  wait: {
    expected: 'a number of milliseconds, 0 or more',
    accepts: (value) => typeof value === 'number' && value >= 0,
  },
};
const SYNC: OptionRules<AudienceSyncOptions> = {
  ...CALL,
  onProgress: { expected: 'a function', accepts: (value) => typeof value === 'function' },
};
const DELETE: OptionRules<AudienceDeleteOptions> = {
  ...CALL,
  notify: { expected: 'a boolean', accepts: (value) => typeof value === 'boolean' },
};
/** Rules for the options of each method. */
const RULES = { sync: SYNC, syncTrait: SYNC, add: CALL, remove: CALL, delete: DELETE };

/**
 * Checks and returns the options of a call. Untyped code may pass anything: if the name of the option `source` were
 * misspelled, the calls would come from another source.
 *
 * @throws InvalidMessageError
 */
export function checkedOptions<T extends AudienceCallOptions>(options: T, method: keyof typeof RULES): T {
  const rules: Readonly<Record<string, OptionRule>> = RULES[method];
  const [problem] = problemsOfCall(options, rules, 'options');
  if (problem === undefined) return options;
  const { path, expected, hint } = problem;
  if (hint !== undefined) throw new InvalidMessageError(path, textOf(problem, `\`${method}()\``));
  const given: unknown = options;
  throw unexpected(path, expected, isJsonObject(given) ? given[path] : given);
}
