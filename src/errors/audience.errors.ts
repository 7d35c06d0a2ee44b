import { AnalyticsError } from './analytics.error.js';

/** Two audiences or computed traits would write the same property of a user. */
export class AudienceNameTakenError extends AnalyticsError {
  readonly code = 'AUDIENCE_NAME_TAKEN';

  constructor(
    readonly audience: string,
    /** The property that both would write. */
    readonly trait: string,
    /** The audience or computed trait that already has the property, by its name. */
    owner: { kind: 'audience' | 'trait'; name: string },
  ) {
    const kind = owner.kind === 'audience' ? 'audience' : 'computed trait';
    super(
      `${JSON.stringify(audience)} would be sent as "${trait}", which is already the property of the ` +
        `${kind} ${JSON.stringify(owner.name)}. Use that name, choose another, or delete that ${kind} first.`,
    );
  }
}

/** The name of an audience cannot be made into the name of a property. */
export class InvalidAudienceNameError extends AnalyticsError {
  readonly code = 'INVALID_AUDIENCE_NAME';

  constructor(given: string) {
    super(
      `Expected the name of an audience to be a string with a letter or a digit in it, of at most 200 ` +
        `characters, without NUL or lone surrogates, got ${given}.`,
    );
  }
}

/** Another process, or another call in this one, is changing the same audience and did not finish in time. */
export class AudienceBusyError extends AnalyticsError {
  readonly code = 'AUDIENCE_BUSY';

  constructor(
    /** Name of the audience or the computed trait. */
    readonly audience: string,
    /** How long the call waited, in milliseconds. */
    readonly waited: number,
  ) {
    super(
      `Another call was still changing the audience ${JSON.stringify(audience)} after ` +
        `${waited} ms. Try again later, or wait longer with the option \`wait\`: a single change was not made, ` +
        `and a repeated sync sends only what is missing.`,
    );
  }
}

/**
 * The lock of an audience expired in the middle of a change, because the process or its database stalled for
 * too long. What was done until then is recorded; the rest was not done.
 */
export class AudienceLockLostError extends AnalyticsError {
  readonly code = 'AUDIENCE_LOCK_LOST';

  constructor(
    /** The trait of the audience. */
    readonly trait: string,
    options?: ErrorOptions,
  ) {
    super(
      `The lock of the audience "${trait}" expired while it was being changed: the process or its database ` +
        `stalled for too long. Run the same sync again: it sends only what is missing.`,
      options,
    );
  }
}
