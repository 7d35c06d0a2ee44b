import { AnalyticsError } from './analytics.error.js';

/** `AnalyticsModule.forRoot` was called twice in one application: there would be two of everything. */
export class DuplicateModuleError extends AnalyticsError {
  readonly code = 'DUPLICATE_MODULE';

  constructor() {
    super(
      'AnalyticsModule.forRoot() or forRootAsync() is imported more than once in this application. ' +
        'Import it once, in the root module: it is global, so that AnalyticsService can be injected anywhere.',
    );
  }
}
