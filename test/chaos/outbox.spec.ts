import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeBackend, describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage } from '../support/stage.js';
import { killShops } from '../outbox/outbox-kills.js';

/** Number of kills for each of three kinds of queue. */
const KILLS = 100;
/**
 * At each start, a killed embedded database replays its last writes. If other specs use the processor, all kills take
 * more than half an hour.
 */
const TIMEOUT = 3_600_000;
/** Minimum number of processes that must have had an order of their own delivered before their kill. */
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
      'delivers all committed events and nothing else',
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
