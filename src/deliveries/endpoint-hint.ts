import type { UrlOutcome } from '../queue/batch-job.js';

/** What the reader of the log can do about a URL that refused a message. */
export interface EndpointHint {
  level: 'warn' | 'error';
  text: string;
}

const RETRIED: EndpointHint = {
  level: 'warn',
  text: 'Its messages are retried until it does, or until their time is over.',
};

/** What to do about the first message that was retried and has failed for good. It stands in a line of its own. */
export const TIME_OVER: EndpointHint = {
  level: 'error',
  text:
    'did not take messages before their time to be retried was over. They are kept as failed, and not retried any more. ' +
    'Correct the receiver; then replay them.',
};

const TIMED_OUT: EndpointHint = {
  level: 'error',
  text:
    'It did not answer in time. Its messages are retried until it does, or until their time is over. Raise ' +
    '`timeout` on the destination if its receiver needs longer.',
};

const NO_TLS: EndpointHint = {
  level: 'warn',
  text:
    'It does not speak TLS on this port, or only a version below 1.2. Its messages are retried until it ' +
    'does, or until their time is over. Use `http:` for it, or the port that it serves https on.',
};

const ADDRESS_REFUSED: EndpointHint = {
  level: 'error',
  text:
    'Its address is private or reserved, so nothing is sent to it, and its messages fail for good. Give ' +
    'a public URL, or set `allowPrivateNetwork: true` on the destination if it is meant; then replay them.',
};

const NOT_TRUSTED: EndpointHint = {
  level: 'error',
  text:
    'Its certificate is not trusted, so nothing is sent to it, and its messages fail for good. Its owner ' +
    'has to install a valid one of a public authority, for this host; then replay them.',
};

const REFUSED: EndpointHint = {
  level: 'warn',
  text: 'Refused messages are not retried, they are kept as failed. Correct the URL or the receiver; then replay them.',
};

const REFUSED_BY_CODE: EndpointHint = {
  level: 'warn',
  text: 'Messages that it refuses are not retried, they are kept as failed. Correct the cause; then replay them.',
};

const INVALID_RESULT: EndpointHint = {
  level: 'error',
  text:
    'Its `deliver` must return nothing, or an array of `{ messageId, error }` with messages of the call. Its ' +
    'messages are retried.',
};

/** The hint for an outcome that is not `delivered`. */
export function hintFor({ class: outcomeClass, status, error = '' }: UrlOutcome): EndpointHint {
  if (outcomeClass === 'retry') {
    if (error === 'TIMEOUT') return TIMED_OUT;
    if (error === 'INVALID_DELIVERY_RESULT') return INVALID_RESULT;
    return error === 'TLS_FAILED' ? NO_TLS : RETRIED;
  }
  if (error === 'ADDRESS_REFUSED') return ADDRESS_REFUSED;
  if (error.startsWith('TLS_')) return NOT_TRUSTED;
  return status === undefined ? REFUSED_BY_CODE : REFUSED;
}
