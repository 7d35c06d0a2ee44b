import { describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { EventLoopTurns } from '../../src/shared/event-loop-turns.js';

/** Keeps the event loop busy for two milliseconds. */
function work(): void {
  const end = performance.now() + 2;
  while (performance.now() < end);
}

describe('EventLoopTurns', () => {
  it('lets timers fire between many pieces of work that become ready at once', async () => {
    const turns = new EventLoopTurns();
    const done: number[] = [];
    const piece = async (index: number): Promise<void> => {
      await turns.take();
      work();
      done.push(index);
    };

    const all = Promise.all(Array.from({ length: 100 }, (_, index) => piece(index)));
    await delay(0);
    const doneBeforeTheTimer = done.length;
    await all;

    expect(doneBeforeTheTimer).toBeLessThan(50);
    expect(done).toEqual(Array.from({ length: 100 }, (_, index) => index));
  });

  it('makes later work wait behind the work that already waits', async () => {
    const turns = new EventLoopTurns();
    const order: string[] = [];
    const piece = async (name: string): Promise<void> => {
      await turns.take();
      work();
      order.push(name);
    };

    const first = Array.from({ length: 10 }, (_, index) => piece(`first ${String(index)}`));
    await delay(0);
    await Promise.all([...first, piece('later')]);

    expect(order.at(-1)).toBe('later');
  });
});
