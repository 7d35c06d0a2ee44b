import { AnalyticsError } from './analytics.error.js';

/** A message is larger than 32 KB once serialised. Thrown at the call. */
export class MessageTooLargeError extends AnalyticsError {
  readonly code = 'MESSAGE_TOO_LARGE';

  constructor(
    /** Bytes of the serialised message in UTF-8. */
    readonly bytes: number,
    /** The limit that it passed, in bytes. */
    readonly limit: number,
  ) {
    super(
      `The message is ${bytes} bytes as JSON, the limit is ${limit} (32 KB). ` +
        `Send less in one call: leave out what receivers do not need, or send an id instead of the object.`,
    );
  }
}
