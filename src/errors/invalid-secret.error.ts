import { AnalyticsError } from './analytics.error.js';

/** What a receiver was to verify with is no secret: with an empty one, anybody could sign. */
export class InvalidSecretError extends AnalyticsError {
  readonly code = 'INVALID_SECRET';

  constructor(
    /** Which secret, as it is named in the options or parameters; never its value. */
    readonly secretName: string,
    expected: string,
  ) {
    super(
      `Expected \`${secretName}\` to be ${expected}. Nothing can be verified until it is set: ` +
        `check the variable or the store that it comes from.`,
    );
  }
}
