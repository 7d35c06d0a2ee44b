import type { UrlOutcome } from '../queue/batch-job.js';
import type { EndpointName, RequestDetails } from '../webhooks/endpoint-state.js';

/** What the reader of the log can do about a URL that refused a message. */
export interface EndpointHint {
  level: 'warn' | 'error';
  /** Only one hint of each kind is logged during an outage. Its requests may fail in many ways. */
  kind: string;
  text: string;
}

const RETRIED: EndpointHint = {
  level: 'warn',
  kind: 'retried',
  text: 'Its messages are retried until it takes them, or until their retry window ends.',
};

/** What to check about a request that is retried, by its error. */
const CHECKS: ReadonlyMap<string, string> = new Map([
  ['DNS_FAILED', 'The name of its host does not resolve: check the URL for a typo, and the DNS of the host.'],
  ['ECONNREFUSED', 'Nothing listens on its port: start the receiver, or check the port of the URL.'],
  ['ECONNRESET', 'It reset the connection: look at its log, and at any proxy in front of it.'],
  ['CONNECTION_CLOSED', 'It closed the connection before it answered: look at its log.'],
  ['EMFILE', 'This process has no file handle left for a socket: raise its limit (`ulimit -n`).'],
  [
    'ENOBUFS',
    'This machine has no port or memory left for a connection: lower `connections`, or find out what holds them.',
  ],
  ['UNREACHABLE', 'Its host cannot be reached: check its network and firewall.'],
]);
const SERVER_ERROR = 'The receiver, or a proxy in front of it, has an error: look at its log.';
const TOO_MANY_REQUESTS = 'It gets too many requests: set a `rateLimit`, or raise its limit.';

/** What to do when, for the first time, a message that was retried has failed for good. Logged in a line of its own. */
export const TIME_OVER: EndpointHint = {
  level: 'error',
  kind: 'timeOver',
  text:
    'did not take messages before their retry window ended. They are kept as failed, and not retried any more. ' +
    'Correct the receiver; then replay them.',
};

function timedOut(details: RequestDetails | undefined): EndpointHint {
  const limit = details === undefined ? 'in time' : `within ${details.timeout} ms`;
  return {
    level: 'error',
    kind: 'timedOut',
    text:
      `It did not answer ${limit}. Its messages are retried until it does, or until their retry window ends. Raise ` +
      '`timeout` on the destination if its receiver needs longer.',
  };
}

const NO_TLS: EndpointHint = {
  level: 'warn',
  kind: 'noTls',
  text:
    'It does not speak TLS on this port, or only a version below 1.2. Its messages are retried until it ' +
    'does, or until their retry window ends. Use `http:` for it, or its https port.',
};

const ADDRESS_REFUSED: EndpointHint = {
  level: 'error',
  kind: 'addressRefused',
  text:
    'Its address is private or reserved, so nothing is sent to it, and its messages fail for good. Give ' +
    'a public URL, or set `allowPrivateNetwork: true` on the destination if this is intended; then replay them.',
};

const NOT_TRUSTED: EndpointHint = {
  level: 'error',
  kind: 'notTrusted',
  text:
    'Its certificate is not trusted, so nothing is sent to it, and its messages fail for good. Its owner ' +
    'has to install a valid certificate of a public authority, for this host; then replay them.',
};

const REFUSED: EndpointHint = {
  level: 'warn',
  kind: 'refused',
  text: 'Refused messages are not retried, but kept as failed. Correct the URL or the receiver; then replay them.',
};

const REFUSED_BY_CODE: EndpointHint = {
  level: 'warn',
  kind: 'refusedByCode',
  text: 'Messages that it refuses are not retried, but kept as failed. Correct the cause; then replay them.',
};

const INVALID_RESULT: EndpointHint = {
  level: 'error',
  kind: 'invalidResult',
  text:
    'Its `deliver` must return nothing, or an array of `{ messageId, error }` with messages of the call. Its ' +
    'messages are retried.',
};

/** Returns the hint for a retry. The application's own destinations give error codes other meanings. */
function retried({ destination, url }: EndpointName, { status, error = '' }: UrlOutcome): EndpointHint {
  const check = status === undefined ? CHECKS.get(error) : checkOfStatus(status);
  if (check === undefined || url === destination) return RETRIED;
  return { ...RETRIED, text: `${check} ${RETRIED.text}` };
}

function checkOfStatus(status: number): string | undefined {
  if (status === 429) return TOO_MANY_REQUESTS;
  return status >= 500 ? SERVER_ERROR : undefined;
}

/** Returns the hint for an outcome that is not `delivered`. */
export function hintFor(
  endpoint: EndpointName,
  outcome: UrlOutcome,
  details: RequestDetails | undefined,
): EndpointHint {
  const { class: outcomeClass, status, error = '' } = outcome;
  if (outcomeClass === 'retry') {
    if (error === 'TIMEOUT') return timedOut(details);
    if (error === 'INVALID_DELIVERY_RESULT') return INVALID_RESULT;
    return error === 'TLS_FAILED' ? NO_TLS : retried(endpoint, outcome);
  }
  if (error === 'ADDRESS_REFUSED') return ADDRESS_REFUSED;
  if (error.startsWith('TLS_')) return NOT_TRUSTED;
  return status === undefined ? REFUSED_BY_CODE : REFUSED;
}
