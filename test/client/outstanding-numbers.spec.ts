import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OutstandingNumbers } from '../../src/client/outstanding-numbers.js';
import { heldBytes } from '../support/heap.js';

describe('outstanding numbers', () => {
  it('report the lowest number and the count, in whatever order numbers are settled', () => {
    const step = fc.record({ taken: fc.nat(1_500), settled: fc.array(fc.nat(4_000), { maxLength: 1_500, size: 'max' }) }); // prettier-ignore
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), fc.nat(4_000), (steps, upTo) => {
        const numbers = new OutstandingNumbers();
        const left = new Set<number>();
        for (const { taken, settled } of steps) {
          for (let n = 0; n < taken; n++) left.add(numbers.next());
          for (const number of settled) {
            numbers.settle(number);
            left.delete(number);
          }
          expect(numbers.lowest).toBe(Math.min(...left, numbers.last + 1));
          expect(numbers.countUpTo(upTo)).toBe([...left].filter((number) => number <= upTo).length);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('keep no page for settled numbers, even if one number stays outstanding for long', async () => {
    const numbers = new OutstandingNumbers();
    const first = numbers.next();
    const before = await heldBytes();
    for (let n = 0; n < 4_000_000; n++) numbers.settle(numbers.next());
    expect((await heldBytes()) - before).toBeLessThan(2 * 2 ** 20);
    expect(numbers.lowest).toBe(first);
    expect(numbers.countUpTo(numbers.last)).toBe(1);
  });
});
