import { expect, it } from '@jest/globals';
import { describeBackend } from '../support/describe-backend.js';
import { runKillRounds } from '../support/kill-rounds.js';
import { Stage } from '../support/stage.js';

const ROUNDS = 3;
/** Flushed in five batches. */
const MESSAGES = 100;
const SEED = 20_261_121;

describeBackend('a crash', (backend) => {
  const stage = new Stage();

  it('loses nothing that was in the queue, however often it happens', async () => {
    const report = await runKillRounds(backend, stage, { rounds: ROUNDS, messages: MESSAGES, seed: SEED });
    expect(report.acknowledged).toBeGreaterThan(0);
    expect(report).toMatchObject({
      lost: [],
      left: { wait: 0, prioritized: 0, active: 0, delayed: 0, failed: 0 },
    });
  }, 240_000);
});
