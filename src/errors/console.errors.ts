import { AnalyticsError } from './analytics.error.js';

/** The application has no console, or runs with AnalyticsTestingModule. */
export class ConsoleDisabledError extends AnalyticsError {
  readonly code = 'CONSOLE_DISABLED';

  constructor() {
    super(
      'There is no console: give the option `console`. With AnalyticsTestingModule there is none: replace ' +
        'ConsoleService in a test that needs it.',
    );
  }
}

/** Links to the console cannot be signed. */
export class ConsoleLinkKeyError extends AnalyticsError {
  readonly code = 'CONSOLE_LINK_KEY';

  constructor() {
    super('Links to the console are signed with `destinations.encryptionKey`, which is missing: give one.');
  }
}

/** A link to the console was requested with wrong fields. */
export class InvalidConsoleLinkError extends AnalyticsError {
  readonly code = 'INVALID_CONSOLE_LINK';

  constructor(field: string, expected: string, given: string) {
    super(`\`${field}\` of a link to the console: expected ${expected}, got ${given}.`);
  }
}
