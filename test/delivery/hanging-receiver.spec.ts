import { expect, it } from '@jest/globals';
import { describeAnyServer } from '../support/describe-backend.js';
import { runHanging } from '../support/hanging-receiver.js';
import { Stage } from '../support/stage.js';

/** The plan of test/chaos, a quarter to a tenth as long. The plan there also bounds how long messages take. */
const PLAN = { eventsPerSecond: 50, duration: 6_000, timeout: 250, retryWindow: 2_500, patience: 15_000 };

describeAnyServer('a receiver that accepts and never answers', (backend) => {
  const stage = new Stage();

  it('has every message end soon after its window, and does not affect its neighbours', async () => {
    const result = await runHanging(stage, backend.connection, PLAN);
    expect(result).toMatchObject({
      tracked: 300,
      ended: 300,
      waiting: 0,
      delivered: [300, 300],
      down: ['hanging'],
    });
  });
});
