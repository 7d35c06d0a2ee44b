import { describe, expect, it } from '@jest/globals';
import { beginningOf } from '../../src/shared/beginning-of.js';
import { heldBytes } from '../support/heap.js';

describe('the beginning of a text', () => {
  it('is the whole text if the text is short', () => {
    expect(beginningOf('Zoë 🚀', 6)).toBe('Zoë 🚀');
    expect(beginningOf('', 6)).toBe('');
  });

  it('has the given number of characters, and no half of a character', () => {
    expect(beginningOf('Zoë and others', 5)).toBe('Zoë a');
    expect(beginningOf('Zoë 🚀', 5)).toBe('Zoë \uFFFD');
    expect(beginningOf('a\ud83d', 5)).toBe('a\uFFFD');
  });

  it('does not hold the rest of the text in memory', async () => {
    const before = await heldBytes();
    const beginnings = Array.from({ length: 1_000 }, (_, n) => beginningOf(`${n}`.padEnd(30_000, 'x'), 256));
    expect((await heldBytes()) - before).toBeLessThan(2_000_000);
    expect(beginnings).toHaveLength(1_000);
  });
});
