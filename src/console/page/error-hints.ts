import type { WebhookErrorCode } from '../../webhooks/http/webhook-error-code.js';

/** What each error code of a request means, and what to do about it. */
const HINTS: Readonly<
  Record<
    | WebhookErrorCode
    | 'DESTINATION_DISABLED'
    | 'DESTINATION_NOT_FOUND'
    | 'INVALID_DESTINATION'
    | 'OTHER_APPLICATION',
    string
  >
> = {
  TIMEOUT:
    'The receiver did not answer in time. Let it answer first and process the event later, or raise `timeout`.',
  DNS_FAILED: 'The host name cannot be resolved. Check the URL for a typo, and the DNS of the host.',
  DNS_BUSY: 'Too many names were being looked up. Messages are retried automatically.',
  ADDRESS_REFUSED: 'The address is private or reserved, and nothing is sent there. Use a public URL.',
  TLS_SELF_SIGNED: 'The certificate is self-signed. Install one from a public authority.',
  TLS_UNKNOWN_ISSUER:
    'The certificate comes from an unknown authority, or an intermediate certificate is missing.',
  TLS_EXPIRED: 'The certificate has expired, or is not valid yet. Renew it.',
  TLS_WRONG_HOST: 'The certificate is for another host. Check the URL, or get one for this host.',
  TLS_UNTRUSTED: 'The certificate is not trusted. Install one from a public authority.',
  TLS_FAILED: 'The host does not speak TLS 1.2 or newer on this port. Check the port and `https:`.',
  ECONNREFUSED: 'Nothing listens on this port of the host. Start the receiver, or check the port.',
  ECONNRESET: 'The receiver reset the connection. Look at its log, and at any proxy in front of it.',
  UNREACHABLE: 'The host cannot be reached. Check its network and firewall.',
  EMFILE:
    'The sending process has too many open files. Messages are retried automatically; whoever runs the process can raise the limit.',
  ENOBUFS:
    'The sending machine has no port or memory left for a connection. Messages are retried automatically; whoever ' +
    'runs the process can lower `connections`.',
  CONNECTION_CLOSED: 'The receiver closed the connection before it answered. Look at its log.',
  INVALID_RESPONSE: 'The answer is not HTTP. Check the port.',
  HEADERS_TOO_LARGE: 'The headers of the answer are larger than 16 KB. Send smaller headers.',
  REQUEST_FAILED: 'The request failed. Look at the log of the receiver.',
  DESTINATION_DISABLED: 'The destination was disabled. Enable it, and the message is delivered.',
  DESTINATION_NOT_FOUND: 'No worker knows the destination.',
  INVALID_DESTINATION: 'The destination has wrong fields. Correct them, and replay the message.',
  OTHER_APPLICATION: 'Another application on the same database queued it. Give each application a `prefix`.',
};

const BY_CODE: ReadonlyMap<string, string> = new Map(Object.entries(HINTS));

const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'The receiver considers the request invalid. Look at what it answered.',
  401: 'The receiver does not accept the sender. Check its secret and the headers of the destination.',
  403: 'The receiver does not accept the sender. Check its secret, and its firewall.',
  404: 'The receiver has no such path. Check the URL.',
  405: 'The receiver does not accept POST at this path. Check the URL.',
  408: 'The receiver waited too long for the request.',
  410: 'The receiver is gone for good.',
  413: 'The message is too large for the receiver. Raise its limit.',
  429: 'The receiver gets too many requests. Set a `rateLimit`, or raise its limit.',
};

/** Returns what the outcome of a request means, or `undefined` if it needs no explanation. */
export function hintFor({ status, error }: { status?: number; error?: string }): string | undefined {
  if (error !== undefined) return BY_CODE.get(error);
  if (status === undefined || status < 300) return undefined;
  if (BY_STATUS[status] !== undefined) return BY_STATUS[status];
  if (status < 400) return 'Redirects are not followed. Use the URL that this one redirects to.';
  return status < 500
    ? 'The receiver refuses the request. Look at what it answered.'
    : 'The receiver, or a proxy in front of it, has an error. Look at its log.';
}
