import { AnalyticsError } from './analytics.error.js';

/**
 * A call was given something that cannot be sent. Thrown at the call, before anything is queued.
 * Carries the field's path and never its value: values may be personal data.
 */
export class InvalidMessageError extends AnalyticsError {
  readonly code = 'INVALID_MESSAGE';

  constructor(
    /** The field that is wrong, as a path: `userId`, `properties`, `timestamp`. */
    readonly field: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
