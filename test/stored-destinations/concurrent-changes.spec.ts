import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresSession } from '../support/postgres-session.js';
import { Stage } from '../support/stage.js';

const ACME = { tenant: 'acme', urls: ['https://hooks.example.com/acme'] };
describeWith('postgres', PostgresServer.installed, 'changes of destinations at the same time', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let connection: string;
  let other: PostgresSession;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    connection = await server.createDatabase();
    other = await stage.add(PostgresSession.open(connection));
  });
  afterAll(() => server.dispose());

  async function start(prefix?: string): Promise<DestinationsService> {
    const app = await stage.app({
      connection,
      ...(prefix !== undefined && { prefix }),
      destinations: { encryptionKey: false },
      shutdownTimeout: 1_000,
    });
    return app.context.get(DestinationsService);
  }

  it('do not deadlock if one adds and another deletes a destination of the same tenant', async () => {
    const [mine, others] = [await start(), await start()];
    const { id } = await mine.create(ACME);
    await others.list();
    const tenant = 'SELECT 1 FROM nestjs_analytics.destination_tenant FOR UPDATE';
    const changes = await other.holding(tenant, async () => {
      const created = mine.create(ACME);
      await other.waiting(1);
      const deleted = others.delete(id);
      await other.waiting(2);
      return [created, deleted] as const;
    });
    const [{ id: left }] = await Promise.all(changes);
    const { destinations } = await mine.list();
    expect(destinations.map((each) => each.id)).toEqual([left]);
  });

  it('do not hold up other applications that have a different prefix', async () => {
    const shop = await start('shop');
    const others = [await start(), await start('billing')];
    await shop.create(ACME);
    // A trigger in the database makes the change wait once it has all locks.
    await other.query(`CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
      CREATE TRIGGER hold BEFORE INSERT ON nestjs_analytics_shop.destination_change
      FOR EACH ROW EXECUTE FUNCTION public.hold()`);
    const { created } = await other.holding('SELECT pg_advisory_xact_lock(1)', async () => {
      const waits = shop.create(ACME);
      await other.waiting(1);
      for (const destinations of others) await destinations.create(ACME);
      return { created: waits };
    });
    await created;
  });
});
