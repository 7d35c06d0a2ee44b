import { AnalyticsError } from './analytics.error.js';

/** One wrong option. */
export interface OptionProblem {
  /** Where it stands: `webhooks.urls[5]`. */
  path: string;
  /** What would be right. */
  expected: string;
  /** What was given; secrets are named by their type only. */
  given: string;
}

/** The options of the module are wrong. Thrown at start, with all that is wrong in one list. */
export class InvalidOptionsError extends AnalyticsError {
  readonly code = 'INVALID_OPTIONS';

  constructor(readonly problems: readonly OptionProblem[]) {
    super(
      `AnalyticsModule was given wrong options:\n` +
        problems
          .map(({ path, expected, given }) => `  - \`${path}\`: expected ${expected}, got ${given}`)
          .join('\n'),
    );
  }
}
