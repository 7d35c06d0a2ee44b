import { FAILURES_UNTIL_DOWN, type UrlOutcome } from '../destinations/destination.js';

export interface EndpointAdvice {
  level: 'warn' | 'error';
  text: string;
}

/**
 * What the reader of the log can do about a URL that did not take an event. A message that is refused now
 * and then is the message's own fault.
 *
 * @param refusals in a row, this one included
 */
export function adviceOn(
  { class: outcomeClass, error }: UrlOutcome,
  refusals: number,
): EndpointAdvice | undefined {
  if (outcomeClass === 'retry') return { level: 'warn', text: 'They are retried until it does.' };
  if (error === 'ADDRESS_REFUSED') {
    return {
      level: 'error',
      text:
        'Its address is private or reserved, so nothing is sent to it, and its messages fail for good. Give ' +
        'a public URL, or set `allowPrivateNetwork: true` on the destination if it is meant; then replay them.',
    };
  }
  if (error?.startsWith('TLS_')) {
    return {
      level: 'error',
      text:
        'Its certificate is not trusted, so nothing is sent to it, and its messages fail for good. Its owner ' +
        'has to install a valid one of a public authority, for this host; then replay them.',
    };
  }
  if (refusals < FAILURES_UNTIL_DOWN) return undefined;
  return {
    level: 'warn',
    text: 'Refused messages are not retried, they are kept as failed. Correct the URL or the receiver; then replay them.',
  };
}
