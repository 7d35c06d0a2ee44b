import { AnalyticsError } from './analytics.error.js';

/** The embedded database crashed in the middle of a statement, and takes nothing more until it is opened anew. */
export class EmbeddedQueueBrokenError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_BROKEN';

  constructor(options?: ErrorOptions) {
    super(
      `The embedded queue's database crashed in the middle of a statement, most often because its disk is ` +
        `full. Make room and restart the process: all that was acknowledged is still there.`,
      options,
    );
  }
}
