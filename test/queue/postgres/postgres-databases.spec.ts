import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { eventsIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';

describeWith('postgres', PostgresServer.installed, 'a database of PostgreSQL', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let admin: PostgresSession;
  let receiver: Receiver;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    admin = await stage.add(PostgresSession.open(server.url()));
    receiver = await stage.receiver();
  });
  afterAll(() => server.dispose());

  async function createWithEncoding(encoding: string): Promise<string> {
    const name = `in_${encoding.toLowerCase()}`;
    await admin.query(`CREATE DATABASE ${name} ENCODING '${encoding}' TEMPLATE template0`);
    return server.url(name);
  }

  it.each(['LATIN1', 'WIN1252'])(
    'is refused at start if its encoding lacks characters (%s)',
    async (encoding) => {
      const connection = await createWithEncoding(encoding);
      await expect(
        stage.app({ connection, webhooks: webhooksTo(receiver), shutdownTimeout: 500 }),
      ).rejects.toMatchObject({
        code: 'UNSUPPORTED_QUEUE_SERVER',
        message: expect.stringContaining(`the encoding ${encoding}`),
      });
    },
  );

  it('carries all characters if it has no encoding', async () => {
    const app = await stage.app({
      connection: await createWithEncoding('SQL_ASCII'),
      webhooks: webhooksTo(receiver),
      flushAt: 1,
    });
    app.analytics.track({ userId: 'u1', event: '漢字 é 😀' });
    await receiver.received(1);
    expect(eventsIn(receiver.requests)).toEqual(['漢字 é 😀']);
    expect(app.log.analytics).toEqual([]);
  });

  it('counts as refusing while a foreign trigger prevents the creation of tables, and works once it is dropped', async () => {
    const connection = await server.createDatabase();
    const owner = await stage.add(PostgresSession.open(connection));
    await owner.query(`
      CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'Tables are made by the tool for migrations'; END $$;
      CREATE EVENT TRIGGER refusal ON ddl_command_start EXECUTE FUNCTION refuse()`);
    const app = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    expect(await app.log.line(/The queue on PostgreSQL/)).toMatch(
      /takes no more jobs \(it refused a statement: its log says which one and why, P0001\).*Check the server\./,
    );
    expect(app.analytics.status().queue).toBe('refusing');
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    await owner.query('DROP EVENT TRIGGER refusal');
    await receiver.received(1);
    await app.log.line(/is back/);
    expect(app.analytics.status().queue).toBe('up');
  });
});
