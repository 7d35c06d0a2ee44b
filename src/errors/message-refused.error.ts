import { AnalyticsError } from './analytics.error.js';

/** A message of a job that must not lose any, such as the sync of an audience, was refused. */
export class MessageRefusedError extends AnalyticsError {
  readonly code = 'MESSAGE_REFUSED';

  constructor(
    /** Why, without anything of what the message holds. */
    readonly reason: string,
  ) {
    super(`A message was refused: ${reason}. Correct that and run the same again.`);
  }
}
