import { AnalyticsError } from './analytics.error.js';

/** The application parsed a webhook's body without keeping its bytes, which are what was signed. */
export class RawBodyMissingError extends AnalyticsError {
  readonly code = 'RAW_BODY_MISSING';

  constructor() {
    super(
      'A webhook cannot be verified without its raw body. ' +
        'Create the application with `NestFactory.create(AppModule, { rawBody: true })`.',
    );
  }
}
