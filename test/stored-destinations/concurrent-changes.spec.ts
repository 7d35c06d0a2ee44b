import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { DestinationsService } from '../../src/index.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';

const ACME = { tenant: 'acme', urls: ['https://hooks.example.com/acme'] };
const WAITING = `
  SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

describeWith('postgres', PostgresServer.installed, 'changes of destinations at the same time', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let connection: string;
  /** A session of somebody else. */
  let other: pg.Client;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    connection = await server.createDatabase();
    other = new pg.Client({ connectionString: connection });
    // It ends with the server.
    other.on('error', () => undefined);
    await other.connect();
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

  /** Resolves when as many statements wait for a lock. */
  const waiting = (count: number): Promise<true> =>
    until(async () => {
      const { rows } = await other.query<{ count: number }>(WAITING);
      return rows[0]?.count === count ? true : undefined;
    });

  it('never wait for each other, although one adds and one deletes a destination of the same tenant', async () => {
    const [mine, others] = [await start(), await start()];
    const { id } = await mine.create(ACME);
    await others.list();
    await other.query('BEGIN; SELECT 1 FROM nestjs_analytics.destination_tenant FOR UPDATE');
    const created = mine.create(ACME);
    await waiting(1);
    const deleted = others.delete(id);
    await waiting(2);
    await other.query('COMMIT');
    const [{ id: left }] = await Promise.all([created, deleted]);
    const { destinations } = await mine.list();
    expect(destinations.map((each) => each.id)).toEqual([left]);
  });

  it('keep no other application waiting that has a prefix of its own', async () => {
    const shop = await start('shop');
    const others = [await start(), await start('billing')];
    await shop.create(ACME);
    // Somebody's trigger makes it wait, once it has all locks.
    await other.query(`CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
      CREATE TRIGGER hold BEFORE INSERT ON nestjs_analytics_shop.destination_change
      FOR EACH ROW EXECUTE FUNCTION public.hold()`);
    await other.query('BEGIN; SELECT pg_advisory_xact_lock(1)');
    const created = shop.create(ACME);
    await waiting(1);
    try {
      for (const destinations of others) await destinations.create(ACME);
    } finally {
      await other.query('COMMIT');
    }
    await created;
  });
});
