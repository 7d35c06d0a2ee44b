import { AnalyticsError } from './analytics.error.js';

/** A receiver did not answer before the deadline, connecting included. The message is retried. */
export class ReceiverTimeoutError extends AnalyticsError {
  readonly code = 'TIMEOUT';

  constructor(
    /** The deadline that passed, in milliseconds. */
    readonly timeout: number,
  ) {
    super(
      `The receiver did not answer within ${timeout} ms. ` +
        'Let it answer first and work later, or raise `timeout` of the webhooks destination.',
    );
  }
}
