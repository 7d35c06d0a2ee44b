import { describe, expect, it } from '@jest/globals';
import { parseRetryAfter } from '../../../src/webhooks/http/webhook-response.js';

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

  it('of an absurd length is a finite number', () => {
    expect(parseRetryAfter('9'.repeat(400), NOW)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
