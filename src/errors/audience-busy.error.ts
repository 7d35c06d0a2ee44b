import { AnalyticsError } from './analytics.error.js';

/** Another process, or another call in this one, is changing the same audience and did not end in time. */
export class AudienceBusyError extends AnalyticsError {
  readonly code = 'AUDIENCE_BUSY';

  constructor(
    /** Name of the audience or the computed trait. */
    readonly audience: string,
    /** How long was waited for it, in milliseconds. */
    readonly waited: number,
  ) {
    super(
      `The audience ${JSON.stringify(audience)} is being changed by another sync, and still was after ` +
        `${waited} ms. Nothing was done; try again later, or wait longer with the option \`wait\`.`,
    );
  }
}
