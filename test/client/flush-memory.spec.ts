import { describe, expect, it } from '@jest/globals';
import { GuardedChild } from '../support/child-process.js';
import { clientUnderTest } from './client-under-test.js';

const FLUSHES = 10_000;
const HOLD_FLUSHES = new URL('./children/hold-flushes.ts', import.meta.url);

describe('a flush that times out while the queue hangs', () => {
  // Runs in a process of its own, so that memory left behind by other tests is not measured.
  it('leaves nothing in memory but its message, whether flushes follow one another or wait at once', async () => {
    const child = await GuardedChild.startScript(HOLD_FLUSHES, []);
    const line = await child.waitFor(/^held /);
    const held = Array.from(line.matchAll(/[\d.]+/g), ([megabytes]) => Number(megabytes));
    expect(held).toEqual([expect.any(Number), expect.any(Number)]);
    for (const megabytes of held) expect(megabytes).toBeLessThan(20);
  });

  it('reports how many messages wait, however many flushes wait with it', async () => {
    const { client, clock, queue, track } = clientUnderTest();
    queue.delay = Infinity;
    const flushes = [];
    for (let n = 0; n < FLUSHES; n++) {
      track(`m-${n}`);
      flushes.push(client.flush({ timeout: 1_000 }));
    }
    client.drain(10);
    await clock.pass(10);
    const results = await Promise.all(flushes);
    expect(results.map(({ pending }) => pending)).toEqual(results.map((_, n) => n + 1));
  });
});
