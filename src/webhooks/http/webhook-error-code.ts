import { isIP } from 'node:net';
import { errors } from './undici.js';

/** Reasons why there was no response. Recorded in outcomes: messages may change, these codes do not. */
export type WebhookErrorCode =
  | 'TIMEOUT'
  | 'DNS_FAILED'
  | 'DNS_BUSY'
  | 'ADDRESS_REFUSED'
  | 'TLS_SELF_SIGNED'
  | 'TLS_UNKNOWN_ISSUER'
  | 'TLS_EXPIRED'
  | 'TLS_WRONG_HOST'
  | 'TLS_UNTRUSTED'
  | 'TLS_FAILED'
  | 'ECONNREFUSED'
  | 'ECONNRESET'
  | 'UNREACHABLE'
  | 'EMFILE'
  | 'ENOBUFS'
  | 'CONNECTION_CLOSED'
  | 'INVALID_RESPONSE'
  | 'HEADERS_TOO_LARGE'
  | 'REQUEST_FAILED';

const CODES = new Map<string, WebhookErrorCode>([
  ['TIMEOUT', 'TIMEOUT'],
  ['ADDRESS_REFUSED', 'ADDRESS_REFUSED'],
  ['DNS_FAILED', 'DNS_FAILED'],
  ['DNS_BUSY', 'DNS_BUSY'],
  ['ENOTFOUND', 'DNS_FAILED'],
  ['ENODATA', 'DNS_FAILED'],
  ['ESERVFAIL', 'DNS_FAILED'],
  ['ECONNREFUSED', 'ECONNREFUSED'],
  ['ECONNRESET', 'ECONNRESET'],
  ['EPIPE', 'ECONNRESET'],
  ['EMFILE', 'EMFILE'],
  ['ENFILE', 'EMFILE'],
  ['ENOBUFS', 'ENOBUFS'],
  ['ENOMEM', 'ENOBUFS'],
  ['EAI_MEMORY', 'ENOBUFS'],
  ['EHOSTUNREACH', 'UNREACHABLE'],
  ['ENETUNREACH', 'UNREACHABLE'],
  ['EHOSTDOWN', 'UNREACHABLE'],
  ['ENETDOWN', 'UNREACHABLE'],
  ['EADDRNOTAVAIL', 'UNREACHABLE'],
  ['ETIMEDOUT', 'UNREACHABLE'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'TLS_SELF_SIGNED'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'TLS_UNKNOWN_ISSUER'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'TLS_UNKNOWN_ISSUER'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'TLS_UNKNOWN_ISSUER'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'TLS_UNKNOWN_ISSUER'],
  ['CERT_HAS_EXPIRED', 'TLS_EXPIRED'],
  ['CERT_NOT_YET_VALID', 'TLS_EXPIRED'],
  ['HOSTNAME_MISMATCH', 'TLS_WRONG_HOST'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'TLS_WRONG_HOST'],
  ['ERR_TLS_CERT_ALTNAME_FORMAT', 'TLS_WRONG_HOST'],
  // Other problems that OpenSSL may find with a certificate chain. Node uses UNSPECIFIED for those without a
  // name.
  ['CERT_CHAIN_TOO_LONG', 'TLS_UNTRUSTED'],
  ['CERT_REJECTED', 'TLS_UNTRUSTED'],
  ['CERT_REVOKED', 'TLS_UNTRUSTED'],
  ['CERT_SIGNATURE_FAILURE', 'TLS_UNTRUSTED'],
  ['CERT_UNTRUSTED', 'TLS_UNTRUSTED'],
  ['ERROR_IN_CERT_NOT_AFTER_FIELD', 'TLS_UNTRUSTED'],
  ['ERROR_IN_CERT_NOT_BEFORE_FIELD', 'TLS_UNTRUSTED'],
  ['INVALID_CA', 'TLS_UNTRUSTED'],
  ['INVALID_PURPOSE', 'TLS_UNTRUSTED'],
  ['PATH_LENGTH_EXCEEDED', 'TLS_UNTRUSTED'],
  ['UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY', 'TLS_UNTRUSTED'],
  ['UNABLE_TO_DECRYPT_CERT_SIGNATURE', 'TLS_UNTRUSTED'],
  ['UNSPECIFIED', 'TLS_UNTRUSTED'],
  ['EPROTO', 'TLS_FAILED'],
  ['UND_ERR_SOCKET', 'CONNECTION_CLOSED'],
  ['UND_ERR_HEADERS_OVERFLOW', 'HEADERS_TOO_LARGE'],
  // A head that is not HTTP: undici reports a length mismatch if it has read a length before finding that out, and an
  // assertion for a status that no answer has. Once a head was read, no error counts.
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'INVALID_RESPONSE'],
  ['ERR_ASSERTION', 'INVALID_RESPONSE'],
]);

/** Families of codes that differ only in detail. */
const PREFIXES: readonly (readonly [string, WebhookErrorCode])[] = [
  ['EAI_', 'DNS_FAILED'],
  ['ERR_SSL_', 'TLS_FAILED'],
  ['ERR_TLS_', 'TLS_FAILED'],
];

/** Maps an error of a request to a small stable set of codes, whichever library it came from. */
export function webhookErrorCode(error: Error): WebhookErrorCode {
  // The only error of undici without a code.
  if (error instanceof errors.HTTPParserError) return 'INVALID_RESPONSE';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'EADDRNOTAVAIL' && isOfIPv4(error)) return 'ENOBUFS';
  const known = CODES.get(code) ?? PREFIXES.find(([prefix]) => code.startsWith(prefix))?.[1];
  return known ?? 'REQUEST_FAILED';
}

/** Codes for when this process, or its machine, has run out of resources for another connection. */
const OWN_LACKS: ReadonlySet<string> = new Set<WebhookErrorCode>(['EMFILE', 'ENOBUFS']);

/** Returns whether a code means that this side can open no more connections. */
export function isOwnLack(code: string | undefined): boolean {
  return code !== undefined && OWN_LACKS.has(code);
}

/**
 * Returns whether an address that "is not available" is an IPv4 address: if so, this machine has no port left. For an
 * IPv6 address, it usually has no IPv6. If several addresses were tried, the first counts, as it does for the code.
 */
function isOfIPv4(error: Error): boolean {
  const first: unknown = 'errors' in error && Array.isArray(error.errors) ? error.errors[0] : error;
  return (
    typeof first === 'object' && first !== null && 'address' in first && isIP(String(first.address)) === 4
  );
}
