import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const EVENTS = 500;
const IDLE_TIMEOUT = 50;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describeWith('postgres', PostgresServer.installed, 'a PostgreSQL that has few connections to spare', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let admin: pg.Client;
  let url: string;

  beforeAll(async () => {
    server = await PostgresServer.create();
    admin = new pg.Client({ connectionString: server.url() });
    await admin.connect();
    await admin.query('CREATE ROLE alice LOGIN');
  });
  beforeEach(async () => {
    url = (await server.createDatabase()).replace('postgres@', 'alice@');
    await admin.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} OWNER TO alice`);
  });
  afterAll(async () => {
    await admin.end();
    await server.dispose();
  });

  async function limit(connections: number): Promise<void> {
    await admin.query(`ALTER ROLE alice CONNECTION LIMIT ${connections}`);
  }

  async function sessions(): Promise<number> {
    const { rows } = await admin.query(`SELECT FROM pg_stat_activity WHERE usename = 'alice'`);
    return rows.length;
  }

  function track(app: AnalyticsApp, events = EVENTS): void {
    for (let n = 0; n < events; n++) app.analytics.track({ userId: 'u1', event: `Event ${n}` });
  }

  /** Resolves to each status that the queue has while some work is done. */
  async function statesDuring(app: AnalyticsApp, work: () => Promise<unknown>): Promise<string[]> {
    const states = new Set<string>();
    const timer = setInterval(() => states.add(app.analytics.status().queue), 1);
    try {
      await work();
    } finally {
      clearInterval(timer);
    }
    return [...states];
  }

  async function start(
    receiver: Receiver,
    connection: string | pg.Pool = url,
    worker = true,
  ): Promise<AnalyticsApp> {
    const app = await stage.app({
      connection,
      webhooks: webhooksTo(receiver),
      flushAt: 1,
      worker,
    });
    await until(() => Promise.resolve(app.analytics.status().queue === 'up' || undefined));
    return app;
  }

  it.each([2, 3])('carries the queue with %i connections, and is reported once', async (connections) => {
    await limit(connections);
    const receiver = await stage.receiver();
    const app = await start(receiver);
    const states = await statesDuring(app, async () => {
      track(app);
      await receiver.received(EVENTS);
      await app.settled();
      await app.log.line(/connections/);
    });
    expect(states).toEqual(['up']);
    expect(app.log.analytics).toEqual([
      expect.stringMatching(
        /^warn: The queue on PostgreSQL reports: it accepts no more connections \(53300\).*wait for one of the \d.*raise/,
      ),
    ]);
  });

  it('lets the queue use more connections soon after the limit is lifted', async () => {
    await limit(3);
    const receiver = await stage.receiver();
    const app = await start(receiver);
    track(app);
    await app.log.line(/accepts no more connections/);
    await receiver.received(EVENTS);
    await limit(-1);
    await until(
      async () => {
        await Promise.all(Array.from({ length: 50 }, () => app.queue.getJobCounts()));
        return (await sessions()) > 3 || undefined;
      },
      500,
      500,
    );
  });

  it('stores tracked messages although the worker has taken the idle connection', async () => {
    await limit(2);
    const receiver = await stage.receiver();
    const app = await start(
      receiver,
      new pg.Pool({ connectionString: url, idleTimeoutMillis: IDLE_TIMEOUT }),
    );
    const states = await statesDuring(app, async () => {
      for (let round = 1; round <= 20; round++) {
        track(app, 20);
        await receiver.received(20 * round);
        await pause(2 * IDLE_TIMEOUT);
      }
    });
    expect(states).toEqual(['up']);
  });

  it('carries the queue with two connections after they were closed', async () => {
    await limit(2);
    const receiver = await stage.receiver();
    const app = await start(receiver);
    track(app, 100);
    await receiver.received(100);
    await app.log.line(/accepts no more connections/);
    for (let round = 2; round <= 6; round++) {
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'alice'`);
      track(app, 100);
      await receiver.received(100 * round);
    }
    await app.settled();
    expect(app.log.analytics).toHaveLength(1);
  });

  it('is reported again when it has fewer connections later', async () => {
    await limit(5);
    const receiver = await stage.receiver();
    const app = await start(receiver);
    track(app);
    await app.log.line(/one of the 5 open connections/);
    await limit(2);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'alice'`);
    // If all connections were closed at once, an outage may have lines of its own.
    const shortages = (): string[] => app.log.analytics.filter((line) => line.includes('one of the'));
    await until(() => {
      track(app, 20);
      return shortages().length > 1 || undefined;
    });
    expect(shortages()).toEqual([
      expect.stringMatching(/one of the 5 open connections/),
      expect.stringMatching(
        /reports: it accepts no more connections \(53300\).*one of the 2 open connections/,
      ),
    ]);
  });

  it('counts as unreachable if the worker has no connection', async () => {
    await limit(1);
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: url, webhooks: webhooksTo(receiver), shutdownTimeout: 500 });
    expect(await app.log.line(/The queue on PostgreSQL/)).toMatch(
      /cannot be reached \(it has too many connections: raise.*53300\)/,
    );
  });

  /** Makes each added job take 200 ms. */
  async function slowDown(): Promise<void> {
    const other = new pg.Client({ connectionString: url.replace('alice@', 'postgres@') });
    await other.connect();
    await other.query(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$;
      CREATE TRIGGER slow BEFORE INSERT ON bullmq.job FOR EACH ROW EXECUTE FUNCTION slow()`);
    await other.end();
  }

  function addFive(app: AnalyticsApp): Promise<PromiseSettledResult<unknown>[]> {
    const adds = Array.from({ length: 5 }, () => app.queue.add('batch', { v: 1, batches: [] }));
    return Promise.allSettled(adds);
  }

  it('rejects with 53300 if a statement waits too long for a connection', async () => {
    await limit(1);
    const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 500 });
    const app = await start(await stage.receiver(), pool, false);
    await slowDown();
    expect(await addFive(app)).toContainEqual({
      status: 'rejected',
      reason: expect.objectContaining({ cause: expect.objectContaining({ code: '53300' }) }),
    });
  });

  it('does not count as short of connections if it refuses none', async () => {
    await limit(-1);
    const pool = new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 500 });
    const app = await start(await stage.receiver(), pool, false);
    await slowDown();
    await addFive(app);
    await app.log.line(/is back after/);
    expect(app.log.analytics).toEqual([
      expect.stringMatching(/does not answer \(it did not provide a connection in time/),
      expect.stringMatching(/is back after/),
    ]);
  });
});
