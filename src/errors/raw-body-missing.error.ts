import { AnalyticsError } from './analytics.error.js';

/** A webhook's body was parsed and its bytes, which are what was signed, were not kept or not handed over. */
export class RawBodyMissingError extends AnalyticsError {
  readonly code = 'RAW_BODY_MISSING';

  constructor() {
    super(
      'A webhook cannot be verified without its raw body, as it came and before it was parsed. ' +
        'A Nest application keeps it with `NestFactory.create(AppModule, { rawBody: true })`.',
    );
  }
}
