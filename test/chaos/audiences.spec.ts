import { expect, it } from '@jest/globals';
import { AudienceModel } from '../audiences/audience-model.js';
import { AudiencesOn, membersOf } from '../audiences/audiences-on.js';
import type { SyncPlan } from '../audiences/children/sync-audience.js';
import { GuardedChild } from '../support/child-process.js';
import { describeBackend } from '../support/describe-backend.js';

const SYNC = new URL('../audiences/children/sync-audience.ts', import.meta.url);
const NAME = 'Big Spenders';
const USERS = Array.from({ length: 300 }, (_, index) => `user-${index}`);
/** Number of syncs. Every third sync is not killed. */
const ROUNDS = 9;
/** Longer than a busy machine stands still, and shorter than a test may take, in milliseconds. */
const LOCK_DURATION = 2_000;

/** Returns about two thirds of all users, chosen anew in each round. */
function someUsers(): string[] {
  return USERS.filter(() => Math.random() < 2 / 3);
}

describeBackend('audiences whose process is killed', (backend) => {
  it('send each change at least once, and no change that did not happen', async () => {
    const model = new AudienceModel('big_spenders');
    const read = new Set<string>();
    let killedInTheMiddle = 0;
    for (let round = 1; round <= ROUNDS; round++) {
      const users = someUsers();
      const plan: SyncPlan = {
        connection: backend.connection,
        name: NAME,
        users,
        lockDuration: LOCK_DURATION,
      };
      const child = await GuardedChild.startScript(SYNC, [JSON.stringify(plan)]);
      await child.waitFor(/^open$/);
      const isKilled = round % 3 !== 0;
      if (isKilled) {
        for (let steps = Math.floor(Math.random() * 10); steps > 0; steps--)
          await child.waitFor(/^(step|done)$/);
        // Kills the process anywhere in the next step.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
        await child.stop('SIGKILL');
      } else {
        await child.waitFor(/^done$/);
        await child.exited;
      }
      const on = await AudiencesOn.open(backend.connection, read);
      const members = await membersOf(on.live(), NAME);
      const calls = await on.calls();
      const change = model.sync(new Set(users));
      if (isKilled) {
        model.killed(change, members, calls);
        if (calls.length > 0 && members.length !== change.target.size) killedInTheMiddle++;
      } else {
        model.done(change, members, calls);
      }
      await on.close();
    }
    expect(killedInTheMiddle).toBeGreaterThan(0);
  }, 120_000);
});
