import { AnalyticsError } from './analytics.error.js';
import { type OptionProblem, withProblems } from './option-problem.js';

/**
 * A destination was given wrong fields, or the application's own store holds such a destination. All problems are in
 * one list, in the words of the module's options.
 */
export class InvalidDestinationError extends AnalyticsError {
  readonly code = 'INVALID_DESTINATION';

  constructor(
    readonly problems: readonly OptionProblem[],
    /** Id of the destination, if it is stored. Messages for it are kept as failed. */
    readonly destination?: string,
  ) {
    super(
      withProblems(
        destination === undefined
          ? 'The destination has wrong fields'
          : `The destination "${destination}" has wrong fields, so its messages are kept as failed`,
        problems,
      ),
    );
  }
}

/** A tenant has as many destinations as it may have. */
export class DestinationLimitError extends AnalyticsError {
  readonly code = 'DESTINATION_LIMIT';

  constructor(
    /** Number of destinations that a tenant may have. */
    readonly limit: number,
  ) {
    super(`The tenant has ${limit} destinations, and may have no more. Delete one of them first.`);
  }
}

/** Somebody else changed a destination since the caller read it, or each time that the change was tried. */
export class DestinationChangedError extends AnalyticsError {
  readonly code = 'DESTINATION_CHANGED';

  /** @param isStale whether the caller gave a version that is not the latest */
  constructor(
    readonly destination: string,
    isStale = true,
  ) {
    super(
      isStale
        ? `The destination "${destination}" has been changed since the given version was read. Read it again, ` +
            'and repeat the change.'
        : `The destination "${destination}" was changed by others every time that this change was tried, so this ` +
            'change was not made. Repeat it.',
    );
  }
}

/** The destinations are in a store of the application, which this module only reads. */
export class DestinationsReadOnlyError extends AnalyticsError {
  readonly code = 'DESTINATIONS_READ_ONLY';

  constructor() {
    super(
      'The destinations are in a store that this module can only read. Change them there, and call ' +
        '`changed(tenant)` afterwards; or give a `destinations.store` with all methods.',
    );
  }
}

/** A call tried to change a destination that is configured in code. */
export class DestinationConfiguredError extends AnalyticsError {
  readonly code = 'DESTINATION_CONFIGURED';

  constructor(readonly destination: string) {
    super(
      `The destination "${destination}" is configured in code, so no call can change it. Change the options ` +
        '`webhooks` or `customDestinations`.',
    );
  }
}

/** `DestinationsService` is used without the option `destinations`, or with AnalyticsTestingModule. */
export class DestinationsDisabledError extends AnalyticsError {
  readonly code = 'DESTINATIONS_DISABLED';

  constructor() {
    super(
      'This application has no destinations at run time. Set the option `destinations` to have them. ' +
        'AnalyticsTestingModule has none: replace DestinationsService in a test that needs it.',
    );
  }
}

/**
 * The secrets of a destination were encrypted with a key that this process does not have. Its messages wait.
 */
export class DestinationKeyError extends AnalyticsError {
  readonly code = 'DESTINATION_KEY';

  constructor(
    readonly destination: string,
    options?: ErrorOptions,
  ) {
    super(
      `The secrets of the destination "${destination}" cannot be decrypted with \`destinations.encryptionKey\`. ` +
        'Its messages wait. Add the key that they were encrypted with to the list.',
      options,
    );
  }
}

/** The application's own store did not answer a look-up or a `list` in time. Messages wait until it does. */
export class DestinationStoreTimeoutError extends AnalyticsError {
  readonly code = 'DESTINATION_STORE_TIMEOUT';

  constructor(
    /** The method that was called. */
    readonly method: string,
    /** The time limit, in milliseconds. */
    readonly timeout: number,
  ) {
    super(
      `\`${method}\` of \`destinations.store\` did not answer within ${timeout / 1_000} seconds. Give it a ` +
        'shorter timeout, so that it stops waiting first.',
    );
  }
}

/**
 * The application's own store did not answer a write in time. Nobody knows whether the change was made, or
 * will be.
 */
export class DestinationWriteTimeoutError extends AnalyticsError {
  readonly code = 'DESTINATION_WRITE_TIMEOUT';

  constructor(
    /** The method that was called. */
    readonly method: string,
    /** The time limit, in milliseconds. */
    readonly timeout: number,
  ) {
    super(
      `\`${method}\` of \`destinations.store\` did not answer within ${timeout / 1_000} seconds. The change may ` +
        'have been made, or be made later: read the destination, or list those of the tenant, before you ' +
        'repeat it. Give the store a shorter timeout, so that it stops waiting first.',
    );
  }
}

/** Messages wait for a destination that is disabled. They are kept, and replayed when it is enabled. */
export class DestinationDisabledError extends AnalyticsError {
  readonly code = 'DESTINATION_DISABLED';

  constructor(readonly destination: string) {
    super(
      `The destination "${destination}" is disabled. Its messages are kept as failed, and delivered when it is ` +
        'enabled within `failedRetention`.',
    );
  }
}
