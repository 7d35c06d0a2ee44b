import { AnalyticsError } from './analytics.error.js';

/**
 * The lock of an audience expired in the middle of a change, because the process or its database stood
 * still for too long. What was done until then is recorded; the rest was not done.
 */
export class AudienceLockLostError extends AnalyticsError {
  readonly code = 'AUDIENCE_LOCK_LOST';

  constructor(
    /** The trait of the audience. */
    readonly trait: string,
    options?: ErrorOptions,
  ) {
    super(
      `The lock of the audience "${trait}" expired while it was being changed: the process or its database ` +
        `stood still for too long. Run the same sync again, it sends only what is missing.`,
      options,
    );
  }
}
