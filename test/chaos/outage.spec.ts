import { expect, it } from '@jest/globals';
import { describeBackend } from '../support/describe-backend.js';
import { runOutage } from '../support/outage-rounds.js';
import { Stage } from '../support/stage.js';

const AWAY_FOR = 60_000;

describeBackend('a queue under load, whose server is away for a minute', (backend) => {
  const stage = new Stage();

  it('loses nothing', async () => {
    expect(await runOutage(backend, stage, AWAY_FOR)).toEqual({ lost: [], refused: 0, pending: 0 });
  }, 300_000);
});
