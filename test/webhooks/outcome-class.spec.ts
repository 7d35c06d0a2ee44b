import { describe, expect, it } from '@jest/globals';
import { errors } from 'undici';
import { classOfError, classOfStatus, isLocalError } from '../../src/webhooks/outcome-class.js';
import { webhookErrorCode } from '../../src/webhooks/http/webhook-error-code.js';

const DEFAULT = ['5xx', 408, 425, 429] as const;

describe('the class of a status', () => {
  it.each([
    ['delivered', [200, 201, 202, 204, 226, 299]],
    ['retry', [500, 501, 502, 503, 504, 511, 520, 599, 408, 425, 429]],
    ['permanent', [300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 410, 422, 451, 499, 600, 999]],
  ])('is %s for %j', (expected, statuses) => {
    expect(statuses.map((status) => classOfStatus(status, DEFAULT))).toEqual(statuses.map(() => expected));
  });

  it('follows the option, except that 2xx is always delivered', () => {
    expect(classOfStatus(404, [404, 200])).toBe('retry');
    expect(classOfStatus(500, [404, 200])).toBe('permanent');
    expect(classOfStatus(503, [503])).toBe('retry');
    expect(classOfStatus(200, [404, 200])).toBe('delivered');
  });
});

describe('an error without a response', () => {
  it.each([
    ['TIMEOUT', 'TIMEOUT', 'retry'],
    ['ENOTFOUND', 'DNS_FAILED', 'retry'],
    ['EAI_AGAIN', 'DNS_FAILED', 'retry'],
    ['DNS_FAILED', 'DNS_FAILED', 'retry'],
    ['DNS_BUSY', 'DNS_BUSY', 'retry'],
    ['ECONNREFUSED', 'ECONNREFUSED', 'retry'],
    ['ECONNRESET', 'ECONNRESET', 'retry'],
    ['EHOSTUNREACH', 'UNREACHABLE', 'retry'],
    ['EMFILE', 'EMFILE', 'retry'],
    ['ENFILE', 'EMFILE', 'retry'],
    ['ENOBUFS', 'ENOBUFS', 'retry'],
    ['ENOMEM', 'ENOBUFS', 'retry'],
    ['EAI_MEMORY', 'ENOBUFS', 'retry'],
    ['UND_ERR_SOCKET', 'CONNECTION_CLOSED', 'retry'],
    ['UND_ERR_HEADERS_OVERFLOW', 'HEADERS_TOO_LARGE', 'retry'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'TLS_FAILED', 'retry'],
    ['SOMETHING_NEW', 'REQUEST_FAILED', 'retry'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'TLS_SELF_SIGNED', 'permanent'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'TLS_UNKNOWN_ISSUER', 'permanent'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'TLS_UNKNOWN_ISSUER', 'permanent'],
    ['CERT_HAS_EXPIRED', 'TLS_EXPIRED', 'permanent'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'TLS_WRONG_HOST', 'permanent'],
    ['CERT_REVOKED', 'TLS_UNTRUSTED', 'permanent'],
    ['ADDRESS_REFUSED', 'ADDRESS_REFUSED', 'permanent'],
  ])('with the code %s is recorded as %s and is %s', (code, recorded, expected) => {
    const named = webhookErrorCode(Object.assign(new Error('x'), { code }));
    expect(named).toBe(recorded);
    expect(classOfError(named)).toBe(expected);
  });

  it.each([
    ['an IPv4 address, for which no port is left', '192.0.2.1', 'ENOBUFS', true],
    ['an IPv6 address, without IPv6 on this machine', '2001:db8::1', 'UNREACHABLE', false],
  ])('with the code EADDRNOTAVAIL is classified by its address: %s', (_, address, expected, isLocal) => {
    const one = Object.assign(new Error('x'), { code: 'EADDRNOTAVAIL', address });
    const refused = Object.assign(new Error('x'), { code: 'ECONNREFUSED', address: '::1' });
    const several = Object.assign(new AggregateError([one, refused]), { code: one.code });
    expect([one, several].map(webhookErrorCode)).toEqual([expected, expected]);
    expect(isLocalError(expected)).toBe(isLocal);
  });

  it('of the HTTP parser is recorded as INVALID_RESPONSE and is retried', () => {
    expect(webhookErrorCode(new errors.HTTPParserError('x'))).toBe('INVALID_RESPONSE');
    expect(classOfError('INVALID_RESPONSE')).toBe('retry');
  });

  it('without a code is retried', () => {
    expect(classOfError(webhookErrorCode(new Error('x')))).toBe('retry');
  });
});
