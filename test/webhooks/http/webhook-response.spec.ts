import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { excerptOf } from '../../src/destinations/webhooks/response-excerpt.js';

describe('the excerpt of a response', () => {
  it('is its text', () => {
    expect(excerptOf(Buffer.from('{"ok":"Zoë 🚀"}'))).toBe('{"ok":"Zoë 🚀"}');
    expect(excerptOf(Buffer.alloc(0))).toBe('');
  });

  it('replaces NUL and bytes that are not UTF-8', () => {
    expect(excerptOf(Buffer.from([0x61, 0x00, 0xff, 0x62]))).toBe('a\uFFFD\uFFFDb');
  });

  it('does not end in the middle of a character', () => {
    const body = Buffer.from(`${'a'.repeat(1022)}🚀`).subarray(0, 1024);
    expect(excerptOf(body)).toBe('a'.repeat(1022));
  });

  it('of any bytes is at most 1 KiB, without NUL and lone surrogates', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1024, size: 'max' }), (bytes) => {
        const excerpt = excerptOf(Buffer.from(bytes));
        expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(1024);
        expect(excerpt).not.toContain('\0');
        expect(Buffer.from(excerpt).toString()).toBe(excerpt);
      }),
    );
  });
});
