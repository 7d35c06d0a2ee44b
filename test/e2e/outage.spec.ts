import { expect, it } from '@jest/globals';
import { describeBackend } from '../support/describe-backend.js';
import { runOutage } from '../support/outage-rounds.js';
import { Stage } from '../support/stage.js';

const AWAY_FOR = 5_000;

describeBackend('a queue under load, whose server is killed', (backend) => {
  const stage = new Stage();

  it('loses nothing while the server is away for five seconds', async () => {
    expect(await runOutage(backend, stage, AWAY_FOR)).toEqual({ lost: [], refused: 0, pending: 0 });
  }, 120_000);
});
