import { AnalyticsError } from './analytics.error.js';

/** The embedded database could not be tidied up. No job is harmed, and the next round tries again. */
export class EmbeddedQueueUpkeepError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_UPKEEP_FAILED';

  constructor(options?: ErrorOptions) {
    super(
      `The embedded queue's database could not be tidied up; its folder grows until that works again. ` +
        `Check the room on its disk.`,
      options,
    );
  }
}
