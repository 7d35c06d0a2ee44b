import { describe, expect, it } from '@jest/globals';
import { within } from '../../src/shared/within.js';
import { EchoThread, standStill } from '../support/echo-thread.js';
import { Stage } from '../support/stage.js';

describe('work with a time limit', () => {
  const stage = new Stage();

  it('counts an answer that arrived while the process stood still for longer than the limit', async () => {
    const thread = await stage.add(EchoThread.start());
    // Timers are the next that the event loop looks at.
    await new Promise((resolve) => setImmediate(resolve));
    const result = within(200, thread.answer('asked'));
    standStill(1_000);
    expect(await result).toBe('asked');
  });

  it('is given up when the time is over', async () => {
    expect(await within(10, new Promise(() => undefined))).toBeUndefined();
  });

  it('rejects as the work does', async () => {
    await expect(within(60_000, Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  });
});
