import { AnalyticsError } from './analytics.error.js';

/** A call came after the application was shut down: nothing would deliver it any more. */
export class AnalyticsClosedError extends AnalyticsError {
  readonly code = 'ANALYTICS_CLOSED';

  constructor() {
    super(
      'The analytics client is closed, the application has shut down. ' +
        'Call it before `app.close()`, or in a hook that runs before `onApplicationShutdown`.',
    );
  }
}
