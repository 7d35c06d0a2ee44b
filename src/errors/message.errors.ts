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

/** A message is larger than 32 KB once serialised. Thrown at the call. */
export class MessageTooLargeError extends AnalyticsError {
  readonly code = 'MESSAGE_TOO_LARGE';

  constructor(
    /** Bytes of the serialised message in UTF-8. */
    readonly bytes: number,
    /** The limit that the message exceeds, in bytes. */
    readonly limit: number,
  ) {
    super(
      `The message is ${bytes} bytes as JSON, the limit is ${limit} (32 KB). ` +
        `Send less in one call: leave out what receivers do not need, or send an id instead of the object.`,
    );
  }
}

/** A message that must not be lost, such as one of an audience sync, was refused. */
export class MessageRefusedError extends AnalyticsError {
  readonly code = 'MESSAGE_REFUSED';

  constructor(
    /** The reason, without any content of the message. If there are several reasons, the first of them. */
    readonly reason: string,
    /** How many messages of the operation were refused. */
    readonly count = 1,
  ) {
    const what =
      count === 1 ? 'A message was refused' : `${count} messages were refused, the first one because`;
    super(`${what}: ${reason}. Correct the cause and run the operation again.`);
  }
}

/** The properties of an event do not fit the schema that the option `events` has for it. */
export class EventViolationError extends AnalyticsError {
  readonly code = 'EVENT_VIOLATION';

  constructor(
    /** Name of the event. */
    readonly event: string,
    violation: string,
  ) {
    super(`The event ${JSON.stringify(event)} does not fit its schema in \`events\`: ${violation}`);
  }
}

/** A call, an option of a call or a decorator names a source that does not exist. */
export class UnknownSourceError extends AnalyticsError {
  readonly code = 'UNKNOWN_SOURCE';

  constructor(name: string, known: readonly string[]) {
    super(
      `No source is named ${JSON.stringify(name)}. The sources of this application are: ${known.join(', ')}.`,
    );
  }
}

/** A call came after the application was shut down, when nothing could deliver it. */
export class AnalyticsClosedError extends AnalyticsError {
  readonly code = 'ANALYTICS_CLOSED';

  constructor() {
    super(
      'The analytics client is closed, because the application has shut down. ' +
        'Call it before `app.close()`, or in a hook that runs before `onApplicationShutdown`.',
    );
  }
}
