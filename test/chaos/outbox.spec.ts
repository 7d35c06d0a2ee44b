import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeBackend, describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage } from '../support/stage.js';
import { killShops } from '../outbox/outbox-kills.js';

/** On each of three kinds of queue. */
const KILLS = 100;
/**
 * A killed embedded database replays what it wrote last at each start. Where other specs take the processor, all kills
 * take more than half an hour.
 */
const TIMEOUT = 3_600_000;
/** At least so many of the processes had an order of their own delivered before they were killed. */
const DELIVERING = 60;

describeWith('postgres', PostgresServer.installed, 'an application with an outbox', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  describeBackend('that is killed a hundred times, with a queue', (backend) => {
    const stage = new Stage();

    it(
      'delivers what was committed and nothing else',
      async () => {
        const report = await killShops(backend, stage, await server.createDatabase(), KILLS);
        const { committed, repeated, delivering } = report;
        process.stdout.write(
          `${backend.name}: ${committed} committed, ${repeated} repeated, ${delivering} of ${KILLS} killed while delivering\n`,
        );
        expect(delivering).toBeGreaterThanOrEqual(DELIVERING);
        expect(report).toMatchObject({ lost: [], untrue: [] });
      },
      TIMEOUT,
    );
  });
});
