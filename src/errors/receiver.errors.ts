import { AnalyticsError } from './analytics.error.js';

/** Why a webhook was not accepted. */
export type WebhookVerificationReason =
  | 'MISSING_HEADERS'
  | 'INVALID_TIMESTAMP'
  | 'TIMESTAMP_TOO_OLD'
  | 'TIMESTAMP_TOO_NEW'
  | 'NO_MATCHING_SIGNATURE';

const EXPLANATIONS: Readonly<Record<WebhookVerificationReason, string>> = {
  MISSING_HEADERS:
    'The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` are needed, each once.',
  INVALID_TIMESTAMP: 'The header `webhook-timestamp` is to be the seconds since the epoch.',
  TIMESTAMP_TOO_OLD: 'It was signed too long ago: it was held back or replayed, or a clock is wrong.',
  TIMESTAMP_TOO_NEW: 'It was signed in the future: a clock is wrong, on this side or on the other.',
  NO_MATCHING_SIGNATURE:
    'No signature matches: check that both sides have the same secret, and that the raw body is verified, as it arrived.',
};

/** A received webhook is not what its signature says, or has none. Answer it with a 401. */
export class WebhookVerificationError extends AnalyticsError {
  readonly code = 'WEBHOOK_NOT_VERIFIED';

  constructor(readonly reason: WebhookVerificationReason) {
    super(`The webhook is not verified. ${EXPLANATIONS[reason]}`);
  }
}
