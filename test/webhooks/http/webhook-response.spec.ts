import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { excerptOf, parseRetryAfter } from '../../../src/webhooks/http/webhook-response.js';

describe('the excerpt of a response', () => {
  it('is its text', () => {
    expect(excerptOf(Buffer.from('{"ok":"Zoë 🚀"}'))).toBe('{"ok":"Zoë 🚀"}');
    expect(excerptOf(Buffer.alloc(0))).toBe('');
  });

  it('replaces NUL and bytes that are not UTF-8', () => {
    expect(excerptOf(Buffer.from([0x61, 0x00, 0xff, 0x62]))).toBe('a\uFFFD\uFFFDb');
  });

  it('escapes control characters, which could forge lines of a log or steer a terminal', () => {
    expect(excerptOf(Buffer.from('a\r\nERROR: \u001b[2J\u009b1m\t\u202eb\u2028'))).toBe(
      'a\\r\\nERROR: \\u001b[2J\\u009b1m\\t\\u202eb\\u2028',
    );
  });

  it('does not end in the middle of a character', () => {
    const body = Buffer.from(`${'a'.repeat(1022)}🚀`).subarray(0, 1024);
    expect(excerptOf(body)).toBe('a'.repeat(1022));
  });

  it('of any bytes is at most 1 KiB, without control characters and lone surrogates', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1024, size: 'max' }), (bytes) => {
        const excerpt = excerptOf(Buffer.from(bytes));
        expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(1024);
        expect(excerpt).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(Buffer.from(excerpt).toString()).toBe(excerpt);
      }),
    );
  });
});

const NOW = Date.parse('1994-11-06T08:49:00Z');

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    ['0', 0],
    ['-5', 0],
    [' 3 ', 3000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
    ['Sun Nov  6 08:49:37 1994', 37_000],
    ['Sat, 05 Nov 1994 08:49:37 GMT', 0],
  ])('of %j is %d ms', (value, milliseconds) => {
    expect(parseRetryAfter(value, NOW)).toBe(milliseconds);
  });

  it.each(['', 'soon', '1.5', '1e3', '5 seconds', 'Sun, nonsense', '2030-01-01', '0x10', undefined])(
    'of %j is ignored',
    (value) => {
      expect(parseRetryAfter(value, NOW)).toBeUndefined();
    },
  );

  it('of an absurd length stays a finite number', () => {
    expect(parseRetryAfter('9'.repeat(400), NOW)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
