import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeServers, describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage } from '../support/stage.js';
import { killShops } from './outbox-kills.js';

const KILLS = 3;
/** The first kill may come before anything was delivered. */
const DELIVERING = 2;

describeWith('postgres', PostgresServer.installed, 'an application with an outbox', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  describeServers('that is killed, with a queue', (backend) => {
    const stage = new Stage();

    it('delivers all committed events and nothing else', async () => {
      const report = await killShops(backend, stage, await server.createDatabase(), KILLS);
      expect(report.delivering).toBeGreaterThanOrEqual(DELIVERING);
      expect(report).toMatchObject({ lost: [], untrue: [] });
    }, 120_000);
  });
});
