import type { OutcomeClass, UrlOutcome } from '../queue/batch-job.js';
import { isOwnLack, type WebhookErrorCode } from './http/webhook-error-code.js';

/** Errors that must not be retried, since another attempt would find the same certificate or address. */
const PERMANENT_ERRORS: ReadonlySet<string> = new Set<WebhookErrorCode>([
  'ADDRESS_REFUSED',
  'TLS_SELF_SIGNED',
  'TLS_UNKNOWN_ISSUER',
  'TLS_EXPIRED',
  'TLS_WRONG_HOST',
  'TLS_UNTRUSTED',
]);

/** Classifies the status of a response. 2xx is delivered whatever `retryStatuses` says. */
export function classOfStatus(status: number, retryStatuses: readonly (number | '5xx')[]): OutcomeClass {
  if (status >= 200 && status < 300) return 'delivered';
  const isServerError = status >= 500 && status < 600;
  const isRetried = retryStatuses.includes(status) || (isServerError && retryStatuses.includes('5xx'));
  return isRetried ? 'retry' : 'permanent';
}

/** Classifies the error if there was no response. */
export function classOfError(code: WebhookErrorCode): OutcomeClass {
  return PERMANENT_ERRORS.has(code) ? 'permanent' : 'retry';
}

/**
 * Returns whether a receiver has answered, given the outcome of a request that is not retried. A connection that was
 * refused because of its certificate or its address does not show that there is a receiver.
 */
export function isAnswer({ error }: Pick<UrlOutcome, 'error'>): boolean {
  return error === undefined || !PERMANENT_ERRORS.has(error);
}

/**
 * Returns whether a request failed before it could reach its receiver, for a reason on this side of the connection.
 * Such a failure says nothing about the receiver.
 */
export function isLocalError(code: string | undefined): boolean {
  return code === 'DNS_BUSY' || isOwnLack(code);
}
