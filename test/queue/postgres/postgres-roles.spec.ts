import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';

describeWith('postgres', PostgresServer.installed, 'the role that the queue has on PostgreSQL', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let admin: pg.Pool;
  let url: string;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    url = await server.createDatabase();
    admin = new pg.Pool({ connectionString: url });
    // It ends with the server.
    admin.on('error', () => undefined);
  });
  afterAll(async () => {
    await admin.end();
    await server.dispose();
  });

  it('may have a password that a function of the Pool makes for each connection, as tokens are', async () => {
    await admin.query(`CREATE ROLE token LOGIN SUPERUSER PASSWORD 'of this minute'`);
    await server.askForPassword('token');
    const connection = new pg.Pool({
      host: '127.0.0.1',
      port: server.port,
      database: new URL(url).pathname.slice(1),
      user: 'token',
      password: () => Promise.resolve('of this minute'),
    });
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection,
      outbox: { connection, migrate: true },
      webhooks: webhooksTo(receiver),
    });
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    await app.analytics.within(connection).track({ userId: 'u1', event: 'Stored' });
    await receiver.received(2);
    expect(app.log.analytics).toEqual([]);
    await connection.end();
  });
});
