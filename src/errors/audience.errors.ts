import { AnalyticsError } from './analytics.error.js';

/** Two audiences or computed traits would write the same property of a user. */
export class AudienceNameTakenError extends AnalyticsError {
  readonly code = 'AUDIENCE_NAME_TAKEN';

  constructor(
    readonly audience: string,
    /** The property that both would write. */
    readonly trait: string,
    /** What has it: an audience or a computed trait, by its name. */
    owner: { kind: 'audience' | 'trait'; name: string },
  ) {
    const kind = owner.kind === 'audience' ? 'audience' : 'computed trait';
    super(
      `${JSON.stringify(audience)} would be sent as "${trait}", which is the property of the ${kind} ` +
        `${JSON.stringify(owner.name)} already. Use that name, choose another, or delete that ${kind} first.`,
    );
  }
}
