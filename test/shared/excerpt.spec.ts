import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { excerptOf } from '../../src/shared/excerpt.js';
import { heldBytes } from '../support/heap.js';

describe('the excerpt of an answer', () => {
  it('is the whole text of a short answer', () => {
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

  it.each([
    ['the beginning of a long text', (text: string) => excerptOf(text)],
    ['a short part of a long text', (text: string) => excerptOf(text.slice(0, 100))],
    ['control characters', (text: string) => excerptOf(Buffer.alloc(1_024, text.length % 8))],
  ])('of %s holds no more than itself in memory', async (_, excerpt) => {
    const before = await heldBytes();
    const excerpts = Array.from({ length: 2_000 }, (__, n) => excerpt(`${n}`.padEnd(30_000, 'x')));
    expect((await heldBytes()) - before).toBeLessThan(4_000_000);
    expect(excerpts).toHaveLength(2_000);
  });

  it('of any bytes is at most 1 KiB, without control characters or lone surrogates', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1024, size: 'max' }), (bytes) => {
        const excerpt = excerptOf(Buffer.from(bytes));
        expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(1024);
        expect(excerpt).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(Buffer.from(excerpt).toString()).toBe(excerpt);
      }),
    );
  });

  it('of a text is cleaned and cut in the same way', () => {
    expect(excerptOf('a\0\ud83d\r\nb')).toBe('a\uFFFD\uFFFD\\r\\nb');
    expect(excerptOf('Zoë 🚀')).toBe('Zoë 🚀');
    expect(excerptOf(`${'a'.repeat(1023)}🚀`)).toBe('a'.repeat(1023));
  });

  it('of any text is at most 1 KiB, without control characters or lone surrogates', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1100, size: 'max' }), fc.nat(1100), (text, end) => {
        const excerpt = excerptOf(text.slice(0, end));
        expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(1024);
        expect(excerpt).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(Buffer.from(excerpt).toString()).toBe(excerpt);
      }),
    );
  });
});
