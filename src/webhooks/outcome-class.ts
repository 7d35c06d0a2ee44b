import type { OutcomeClass } from '../destination.js';
import type { WebhookErrorCode } from './webhook-error-code.js';

/** Another attempt would find the same certificate or address, and must not be given one. */
const PERMANENT_ERRORS: ReadonlySet<WebhookErrorCode> = new Set<WebhookErrorCode>([
  'ADDRESS_REFUSED',
  'TLS_SELF_SIGNED',
  'TLS_UNKNOWN_ISSUER',
  'TLS_EXPIRED',
  'TLS_WRONG_HOST',
  'TLS_UNTRUSTED',
]);

/** What the status of a response means. 2xx is delivered whatever `retryStatuses` says. */
export function classOfStatus(status: number, retryStatuses: readonly (number | '5xx')[]): OutcomeClass {
  if (status >= 200 && status < 300) return 'delivered';
  const isServerError = status >= 500 && status < 600;
  const isRetried = retryStatuses.includes(status) || (isServerError && retryStatuses.includes('5xx'));
  return isRetried ? 'retry' : 'permanent';
}

/** What it means that there was no response. */
export function classOfError(code: WebhookErrorCode): OutcomeClass {
  return PERMANENT_ERRORS.has(code) ? 'permanent' : 'retry';
}
