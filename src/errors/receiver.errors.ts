import { AnalyticsError } from './analytics.error.js';

/** Why a webhook was not accepted. */
export type WebhookVerificationReason =
  | 'MISSING_HEADERS'
  | 'INVALID_ID'
  | 'INVALID_TIMESTAMP'
  | 'TIMESTAMP_TOO_OLD'
  | 'TIMESTAMP_TOO_NEW'
  | 'NO_MATCHING_SIGNATURE';

const EXPLANATIONS: Readonly<Record<WebhookVerificationReason, string>> = {
  MISSING_HEADERS:
    'The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` are needed, each once.',
  INVALID_ID: 'The header `webhook-id` holds a full stop, which separates the parts that are signed.',
  INVALID_TIMESTAMP: 'The header `webhook-timestamp` must be the number of seconds since the epoch.',
  TIMESTAMP_TOO_OLD: 'It was signed too long ago: it was held back or replayed, or a clock is wrong.',
  TIMESTAMP_TOO_NEW: 'It was signed in the future: a clock is wrong, on this side or on the other.',
  NO_MATCHING_SIGNATURE:
    'No signature matches: check that both sides have the same secret, and that the raw body is verified, as it arrived.',
};

/** A received webhook does not match its signature, or has none. Answer it with 401. */
export class WebhookVerificationError extends AnalyticsError {
  readonly code = 'WEBHOOK_NOT_VERIFIED';

  constructor(readonly reason: WebhookVerificationReason) {
    super(`The webhook is not verified. ${EXPLANATIONS[reason]}`);
  }
}

/** A webhook's body was parsed, but the signed bytes of the body were not kept or not passed on. */
export class RawBodyMissingError extends AnalyticsError {
  readonly code = 'RAW_BODY_MISSING';

  constructor() {
    super(
      'A webhook cannot be verified without its raw body, the bytes before parsing. ' +
        'A Nest application keeps it with `NestFactory.create(AppModule, { rawBody: true })` and no body parser of ' +
        "its own before it, such as `app.use(express.json())`: use `app.useBodyParser('json', { limit })`. On Express " +
        'alone, give the route `express.raw({ type: () => true })`, and pass on its `request.body`.',
    );
  }
}

/** The secret to verify with is missing or empty. With an empty secret, anybody could sign. */
export class InvalidSecretError extends AnalyticsError {
  readonly code = 'INVALID_SECRET';

  constructor(
    /** Which secret, as it is named in the options or parameters; never its value. */
    readonly secretName: string,
    expected: string,
  ) {
    super(
      `Expected \`${secretName}\` to be ${expected}. Nothing can be verified until it is set: ` +
        `check the variable or the store that it comes from.`,
    );
  }
}

/**
 * A function that verifies a webhook was given a header that is not text. This is an error in the calling
 * code.
 */
export class InvalidHeadersError extends AnalyticsError {
  readonly code = 'INVALID_HEADERS';

  /** @param headers names of the headers; never a value */
  constructor(headers: string) {
    super(
      `Expected ${headers} to hold strings, or arrays of strings. Pass the headers of the request as ` +
        'Node, the framework or `fetch` provides them.',
    );
  }
}
