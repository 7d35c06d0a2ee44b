import { expect, it } from '@jest/globals';
import { describeBackend } from '../support/describe-backend.js';
import { runKillRounds } from '../support/kill-rounds.js';
import { Stage } from '../support/stage.js';

const ROUNDS = 100;
const MESSAGES = 200;
/** `CHAOS_SEED` repeats a run. */
const SEED = Number(process.env.CHAOS_SEED ?? Date.now() % 2 ** 31);

describeBackend('a hundred crashes', (backend) => {
  const stage = new Stage();

  it('lose nothing that was in the queue', async () => {
    process.stdout.write(`CHAOS_SEED=${SEED}\n`);
    const report = await runKillRounds(backend, stage, { rounds: ROUNDS, messages: MESSAGES, seed: SEED });
    expect(report.acknowledged).toBeGreaterThan(0);
    expect(report).toMatchObject({
      lost: [],
      left: { wait: 0, prioritized: 0, active: 0, delayed: 0, failed: 0 },
    });
  }, 1_800_000);
});
