import { expect, it } from '@jest/globals';
import { describeBackend } from '../support/describe-backend.js';
import { runHanging } from '../support/hanging-receiver.js';
import { percentile } from '../support/percentile.js';
import { Stage } from '../support/stage.js';

const PLAN = { eventsPerSecond: 50, duration: 70_000, timeout: 1_000, retryWindow: 10_000, patience: 20_000 };
/** Latency that does not count as a delay of neighbours, in milliseconds. */
const UNNOTICED = 1_000;

describeBackend('a receiver that accepts and never answers for more than a minute', (backend) => {
  const stage = new Stage();

  it('delays no neighbour, and its own messages all end within 20 s of the last retry window', async () => {
    const result = await runHanging(stage, backend.connection, PLAN);
    expect(result).toMatchObject({
      tracked: 3_500,
      ended: 3_500,
      waiting: 0,
      delivered: [3_500, 3_500],
      down: ['hanging'],
    });
    expect(percentile(result.latencies, 0.99)).toBeLessThan(UNNOTICED);
  }, 180_000);
});
