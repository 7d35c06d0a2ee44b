import { UnrecoverableError } from 'bullmq';
import type { AnalyticsError } from '../errors/analytics.error.js';
import { countOf } from '../shared/count-of.js';
import { storable } from '../shared/excerpt.js';

/** Thrown by the processor to make BullMQ put the job back until its next attempt. */
export class RetryLater extends Error {
  constructor(
    /** When the next attempt is due, in milliseconds since the epoch. */
    readonly at: number,
    messages: number,
  ) {
    super(`RETRY: ${countOf(messages, 'message')} to be tried again`);
    this.name = 'RetryLater';
  }
}

/** Thrown by the processor to make BullMQ keep the job as failed. The reason begins with a stable code. */
export class FailedForGood extends UnrecoverableError {
  static because(error: AnalyticsError): FailedForGood {
    return new FailedForGood(storable(`${error.code}: ${error.message}`));
  }

  /** For a job whose messages were retried until their window was over, or refused for good. */
  static after(messages: number): FailedForGood {
    return new FailedForGood(`DELIVERY_FAILED: ${countOf(messages, 'message')} could not be delivered`);
  }
}
