import { AnalyticsError } from './analytics.error.js';

/** `AnalyticsService.source(name)` was given a name that no source has. */
export class UnknownSourceError extends AnalyticsError {
  readonly code = 'UNKNOWN_SOURCE';

  constructor(name: string, known: readonly string[]) {
    super(
      `No source is named ${JSON.stringify(name)}. The sources of this application are: ${known.join(', ')}.`,
    );
  }
}
