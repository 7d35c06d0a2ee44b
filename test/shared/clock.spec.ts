import { describe, expect, it } from '@jest/globals';
import { SYSTEM_CLOCK } from '../../src/shared/clock.js';
import { EchoThread, standStill } from '../support/echo-thread.js';
import { Stage } from '../support/stage.js';

describe('the system clock', () => {
  const stage = new Stage();

  it.each(['after', 'afterUnlessIdle'] as const)(
    'does not call back (`%s`) if an answer that arrived during a stall cancels the timer',
    async (method) => {
      const thread = await stage.add(EchoThread.start());
      await new Promise((resolve) => setImmediate(resolve));
      let isCalled = false;
      const timer = SYSTEM_CLOCK[method](200, () => {
        isCalled = true;
      });
      const answered = thread.answer('asked');
      standStill(1_000);
      await answered;
      timer.cancel();
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(isCalled).toBe(false);
    },
  );

  it('calls back when the time is over', async () => {
    await new Promise<void>((resolve) => SYSTEM_CLOCK.after(10, resolve));
  });
});
