import { AnalyticsError } from './analytics.error.js';

/** A job names a destination that this application does not have. The job is kept as failed. */
export class DestinationNotFoundError extends AnalyticsError {
  readonly code = 'DESTINATION_NOT_FOUND';

  constructor(readonly destination: string) {
    super(
      `No destination has the id "${destination}". Its messages are kept as failed and sent nowhere else; ` +
        `give a webhooks destination this \`id\` again and replay them.`,
    );
  }
}
