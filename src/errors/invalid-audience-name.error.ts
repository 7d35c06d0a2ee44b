import { AnalyticsError } from './analytics.error.js';

/** A name of an audience from which no name of a property can be made. */
export class InvalidAudienceNameError extends AnalyticsError {
  readonly code = 'INVALID_AUDIENCE_NAME';

  constructor(given: string) {
    super(
      `Expected the name of an audience to be a string with a letter or a digit in it, of at most 200 ` +
        `characters, got ${given}.`,
    );
  }
}
