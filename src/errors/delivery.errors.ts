import { AnalyticsError } from './analytics.error.js';

/** A call or a job names a destination that this application, or the tenant that asks, does not have. */
export class DestinationNotFoundError extends AnalyticsError {
  readonly code = 'DESTINATION_NOT_FOUND';

  constructor(
    readonly destination: string,
    remedy = 'Check the id and the tenant.',
  ) {
    super(`No destination has the id "${destination}". ${remedy}`);
  }

  /** Returns the error for a job that names such a destination. The job is kept as failed. */
  static inJob(destination: string): DestinationNotFoundError {
    const remedy =
      'Its messages are kept as failed and sent nowhere else; give one of `webhooks` or `customDestinations` ' +
      'this `id` again and replay them.';
    return new DestinationNotFoundError(destination, remedy);
  }
}

/** A job was queued by another application on the same database, whose destination has the same id. */
export class OtherApplicationError extends AnalyticsError {
  readonly code = 'OTHER_APPLICATION';

  constructor(readonly destination: string) {
    super(
      `Messages for the destination "${destination}" were queued by another application, which has other write keys ` +
        'and sends them to other URLs. They are kept as failed and sent nowhere. Give each application that shares the ' +
        "queue's database a `prefix`.",
    );
  }
}

/**
 * Throw this error in `deliver` of a custom destination, or give it as the `error` of a message, if another attempt
 * would fail as well. The messages are then kept as failed at once.
 */
export class PermanentDeliveryError extends AnalyticsError {
  readonly code = 'PERMANENT_DELIVERY';
}

/** Maximum number of destinations that an error names. */
const MAX_NAMED = 5;

/** A replay left out destinations that could not be looked up. The rest of the replay was done. */
export class ReplayIncompleteError extends AnalyticsError {
  readonly code = 'REPLAY_INCOMPLETE';
  /** Ids of the destinations that were left out. */
  readonly destinations: readonly string[];

  constructor(
    /** Number of messages delivered again. */
    readonly replayed: number,
    /** Why each destination could not be looked up, by its id. */
    reasons: ReadonlyMap<string, unknown>,
  ) {
    const ids = [...reasons.keys()];
    const named = ids.slice(0, MAX_NAMED).map((id) => `"${id}"`);
    const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
    super(
      `Messages of destinations that could not be looked up were left as they are: ${named.join(', ')}${more}. ` +
        `${replayed === 1 ? '1 other is' : `${replayed} others are`} delivered again. Repeat the call when \`destinations.store\` answers.`,
      { cause: reasons.values().next().value },
    );
    this.destinations = ids;
  }
}

/** `sendTest` or `explain` was called for a destination that has no URLs. */
export class NotAWebhookError extends AnalyticsError {
  readonly code = 'NOT_A_WEBHOOK';

  constructor(readonly destination: string) {
    super(
      `The destination "${destination}" is not a webhooks destination, so it has no requests to send or explain. ` +
        "Call a custom destination's own code to test it.",
    );
  }
}

/** A job was written by another version of this package, in a format that this one cannot read. */
export class UnknownJobFormatError extends AnalyticsError {
  readonly code = 'UNKNOWN_JOB_FORMAT';

  constructor(version: unknown) {
    super(
      `The job has the format ${JSON.stringify(version)}, which this version of nestjs-analytics cannot read. ` +
        'It is kept as failed. Run workers of the version that wrote it, or a newer one, and from there call ' +
        "`deliveries.replay({ error: 'UNKNOWN_JOB_FORMAT' })`.",
    );
  }
}

/**
 * A receiver's host is, or resolves to, an address that is not on the public internet. The connection was
 * refused before anything was sent. Otherwise a webhook URL could reach the services next to this process.
 */
export class AddressRefusedError extends AnalyticsError {
  readonly code = 'ADDRESS_REFUSED';

  constructor() {
    super(
      'The receiver has a private or reserved address, so nothing was sent. ' +
        'Use a public host, or set `allowPrivateNetwork: true` on the webhooks destination if that is intended.',
    );
  }
}

/** A receiver did not answer before the deadline, which covers connecting too. The message is retried. */
export class ReceiverTimeoutError extends AnalyticsError {
  readonly code = 'TIMEOUT';

  constructor(
    /** The deadline that passed, in milliseconds. */
    readonly timeout: number,
  ) {
    super(
      `The receiver did not answer within ${timeout} ms. ` +
        'Have it answer before it processes the message, or raise `timeout` of the webhooks destination.',
    );
  }
}

/**
 * Why a name has no addresses: DNS does not know the name, no server could be asked, none answered in time,
 * or one failed.
 */
export type NameLookupReason = 'unknown' | 'unreachable' | 'timeout' | 'failed';

/** The addresses of a receiver's host could not be found. The message is retried. */
export class NameLookupError extends AnalyticsError {
  readonly code = 'DNS_FAILED';

  constructor(readonly reason: NameLookupReason) {
    super(
      `The name of the receiver's host could not be resolved (${reason}). ` +
        'Check the host of the URL, and the DNS servers of this machine.',
    );
  }
}

/**
 * Too many names are being looked up for this one to get its turn in time. Nothing is known about the
 * receiver.
 */
export class NameLookupBusyError extends AnalyticsError {
  readonly code = 'DNS_BUSY';

  constructor() {
    super(
      "The name of the receiver's host could not be looked up in time, because too many other names are " +
        'waiting for an answer. The message is retried. Check the DNS servers of this machine.',
    );
  }
}

/** A job has data that this package does not write: another program added it, or changed it. */
export class InvalidJobError extends AnalyticsError {
  readonly code = 'INVALID_JOB';

  constructor(
    /** The first part of the job's data that is wrong, as a path. */
    readonly path: string,
    expected: string,
  ) {
    super(
      `Expected \`${path}\` of the job to be ${expected}. nestjs-analytics did not write it like this: look for ` +
        `another program that adds or changes jobs in its queue. The job is kept as failed.`,
    );
  }
}

/** A filter of messages or deliveries has a wrong name or a wrong value. */
export class InvalidFilterError extends AnalyticsError {
  readonly code = 'INVALID_FILTER';

  constructor(
    /** The name in the filter. */
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

/** `recent`, `stats`, `totals` or `totalsByMinute` is used in an application that keeps no history of deliveries. */
export class HistoryDisabledError extends AnalyticsError {
  readonly code = 'HISTORY_DISABLED';

  constructor() {
    super('This application keeps no history of its deliveries. Leave out the option `history: false`.');
  }
}
