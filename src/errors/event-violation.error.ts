import { AnalyticsError } from './analytics.error.js';

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
