import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeBackend, describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage } from '../support/stage.js';
import { killShops } from '../outbox/outbox-kills.js';

/** On each of three kinds of queue. */
const KILLS = 100;

describeWith('postgres', PostgresServer.installed, 'an application with an outbox', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  describeBackend('that is killed a hundred times, with a queue', (backend) => {
    const stage = new Stage();

    it('delivers what was committed and nothing else', async () => {
      const report = await killShops(backend, stage, await server.createDatabase(), KILLS);
      process.stdout.write(`${backend.name}: ${report.committed} committed, ${report.repeated} repeated\n`);
      expect(report.committed).toBeGreaterThan(0);
      expect(report).toMatchObject({ lost: [], untrue: [] });
    }, 1_800_000);
  });
});
