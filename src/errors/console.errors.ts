import { AnalyticsError } from './analytics.error.js';

/** The application has no console, or runs with AnalyticsTestingModule. */
export class ConsoleDisabledError extends AnalyticsError {
  readonly code = 'CONSOLE_DISABLED';

  constructor() {
    super(
      'The console is not enabled: set the option `console`. AnalyticsTestingModule has no console: replace ' +
        'ConsoleService in a test that needs it.',
    );
  }
}

/** Links to the console cannot be signed. */
export class ConsoleLinkKeyError extends AnalyticsError {
  readonly code = 'CONSOLE_LINK_KEY';

  constructor() {
    super(
      'Links to the console are signed with `destinations.encryptionKey`, but this application has no such key. Set one.',
    );
  }
}

/** A link to the console was requested with wrong fields. */
export class InvalidConsoleLinkError extends AnalyticsError {
  readonly code = 'INVALID_CONSOLE_LINK';

  constructor(field: string, expected: string, given: string) {
    super(`\`${field}\` of a link to the console: expected ${expected}, got ${given}.`);
  }
}
