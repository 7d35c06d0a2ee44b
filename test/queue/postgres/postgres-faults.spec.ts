import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { AnalyticsHealthIndicator, DestinationsService } from '../../../src/index.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PgBouncer } from '../../support/pgbouncer.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { eventsIn } from '../../support/received-message.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { terminateSessions } from '../../support/terminations.js';
import { until } from '../../support/until.js';

const DELAYED = 2_000;
/** Number of messages that are tracked at once, and how often. */
const BURST = 20;
const ROUNDS = 20;
const DESTINATIONS = { encryptionKey: Buffer.alloc(32, 1).toString('hex') };
const NOWHERE = { urls: ['https://hooks.example.com/events'] };

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describeWith('postgres', PostgresServer.installed, 'a PostgreSQL that the queue is put on', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let admin: pg.Client;
  let url: string;

  beforeAll(async () => {
    server = await PostgresServer.create();
    admin = new pg.Client({ connectionString: server.url() });
    await admin.connect();
    await admin.query(`CREATE ROLE alice LOGIN PASSWORD 'right'; CREATE ROLE bob LOGIN CONNECTION LIMIT 0;
      CREATE ROLE dave LOGIN`);
  });
  beforeEach(async () => {
    url = await server.createDatabase();
  });
  afterAll(async () => {
    await admin.end();
    await server.dispose();
  });

  async function query<R extends pg.QueryResultRow>(statement: string): Promise<pg.QueryResult<R>> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const result = await client.query<R>(statement);
    await client.end();
    return result;
  }

  async function firstLineWith(connection: string): Promise<string> {
    const app = await stage.app({ connection, webhooks: NOWHERE, shutdownTimeout: 500 });
    return app.log.line(/The queue on PostgreSQL/);
  }

  /** Records the value of a setting at each write of jobs. Resolves to a function that returns the records. */
  async function noteOfJobs(setting: string): Promise<() => Promise<unknown[]>> {
    await query(`CREATE TABLE public.note (operation text, value text);
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.note VALUES (TG_OP, current_setting('${setting}'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER note AFTER INSERT OR UPDATE ON bullmq.job FOR EACH ROW EXECUTE FUNCTION note()`);
    return async () =>
      (await query('SELECT DISTINCT operation, value FROM public.note ORDER BY operation')).rows;
  }

  it.each(['boot', 'steady'] as const)(
    'does not end the host process when it ends sessions (%s)',
    async (mode) => {
      expect(await terminateSessions(url, mode, 40)).toMatchObject({ survived: true });
    },
  );

  it('does not read all delayed jobs whenever a worker has nothing to do', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: url, webhooks: webhooksTo(receiver), flushAt: 1 });
    // The table's statistics date from before the delayed jobs, as when a receiver has just gone down.
    await query('ALTER TABLE bullmq.job SET (autovacuum_enabled = false); ANALYZE bullmq.job');
    const job = { name: 'batch', data: { v: 1, batches: [] }, opts: { delay: 3_600_000 } };
    await app.queue.addBulk(Array.from({ length: DELAYED }, () => job));
    for (let event = 1; event <= 20; event++) {
      app.analytics.track({ userId: 'u1', event: 'Fresh' });
      await receiver.received(event);
    }
    // A session reports its reads at once when it ends.
    await app.close();
    const { rows } = await query<{ count: string }>(
      `SELECT seq_tup_read + idx_tup_fetch AS count FROM pg_stat_user_tables WHERE relname = 'job'`,
    );
    expect(Number(rows[0]?.count)).toBeLessThan(10 * DELAYED);
  });

  it.each([
    ['58030', /takes no more jobs \(it cannot read or write its disk, 58030\)\. Calls are kept in memory/],
    ['58P01', /takes no more jobs \(one of its files is missing, 58P01\)\. Calls are kept in memory/],
    ['XX001', /takes no more jobs \(its files are damaged: restore a backup, XX001\)\. Calls are kept/],
  ])(
    'counts as refusing while its files fail (%s), and takes the kept calls when they are back',
    async (code, line) => {
      const receiver = await stage.receiver();
      const app = await stage.app({ connection: url, webhooks: webhooksTo(receiver) });
      await query(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not open file' USING ERRCODE = '${code}'; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON bullmq.job FOR EACH ROW EXECUTE FUNCTION fail()`);
      app.analytics.track({ userId: 'u1', event: 'Kept in memory' });
      expect(await app.analytics.flush({ timeout: 1_000 })).toEqual({ queued: 0, refused: 0, pending: 1 });
      expect(app.analytics.status()).toMatchObject({ queue: 'refusing', buffered: { messages: 1 } });
      await app.log.line(line);
      await query('DROP TRIGGER fail ON bullmq.job');
      await receiver.received(1);
      await app.log.line(/The queue on PostgreSQL is back/);
      expect(app.analytics.status()).toMatchObject({ queue: 'up', buffered: { messages: 0 } });
    },
  );

  it('counts as refusing while its worker can take no job because of a damaged index', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: url, webhooks: webhooksTo(receiver) });
    await query(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'index is corrupted' USING ERRCODE = 'index_corrupted'; END $$;
      CREATE TRIGGER fail BEFORE UPDATE ON bullmq.job FOR EACH ROW EXECUTE FUNCTION fail()`);
    app.analytics.track({ userId: 'u1', event: 'Not taken' });
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
    await app.log.line(/takes no more jobs \(its files are damaged: run `REINDEX SCHEMA bullmq`, XX002\)/);
    // The probes of the first seconds are stored.
    await until(() => app.log.analytics.filter((line) => line.includes('XX002'))[1]);
    expect(app.analytics.status().queue).toBe('refusing');
    await query('DROP TRIGGER fail ON bullmq.job');
    await receiver.received(1);
    await until(() => app.analytics.status().queue === 'up' || undefined);
  });

  it.each([
    // PostgreSQL's error when `statement_timeout` is over.
    [
      'it ends no statements any more',
      'query_canceled',
      /takes no more jobs \(it ended a statement.*57014\)/,
    ],
  ])('records deliveries once %s, so that nothing is delivered twice', async (_, condition, line) => {
    let answer: (status: number) => void = () => undefined;
    const answered = new Promise<number>((resolve) => (answer = resolve));
    const receiver = await stage.receiver({ answer: () => answered });
    const app = await stage.app({ connection: url, webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Slowly recorded' });
    await app.analytics.flush();
    await receiver.received(1);
    await query(`CREATE FUNCTION busy() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'failing' USING ERRCODE = '${condition}'; END $$;
      CREATE TRIGGER busy BEFORE UPDATE OR DELETE ON bullmq.job FOR EACH ROW EXECUTE FUNCTION busy()`);
    answer(200);
    await app.log.line(line);
    await query('DROP TRIGGER busy ON bullmq.job');
    await app.log.line(/is back after/);
    await app.settled();
    expect(receiver.requests).toHaveLength(1);
  });

  it('lets a retry happen soon after a while with too few connections', async () => {
    await admin.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} OWNER TO dave`);
    const limit = (connections: number) => admin.query(`ALTER ROLE dave CONNECTION LIMIT ${connections}`);
    const sessions = `FROM pg_stat_activity WHERE usename = 'dave'`;
    const receiver = await stage.receiver({
      answer: [{ status: 503, headers: { 'retry-after': '12' } }, 200],
    });
    const connection = url.replace('postgres@', 'dave@');
    const app = await stage.app({ connection, webhooks: webhooksTo(receiver), flushAt: 1 });
    app.analytics.track({ userId: 'u1', event: 'Retried' });
    await until(async () => ((await app.queue.getDelayedCount()) === 1 ? true : undefined));
    await limit(0);
    await admin.query(`SELECT pg_terminate_backend(pid) ${sessions}`);
    await app.log.line(/cannot be reached/);
    await pause(2_500);
    // The worker is notified of new jobs again, but cannot ask when the next retry is due.
    await limit(1);
    await pause(3_000);
    await limit(-1);
    await receiver.received(2);
    await app.settled();
  });

  it('is reported if the clock of a worker differs from its own', async () => {
    const { now } = Date;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 10_000);
    try {
      const app = await stage.app({ connection: url, webhooks: webhooksTo(await stage.receiver()) });
      expect(await app.log.line(/clock/)).toMatch(
        /the clock of this process is 10 s ahead of the server's clock\./,
      );
    } finally {
      clock.mockRestore();
    }
  });

  it('is reported if the password is wrong', async () => {
    await server.askForPassword('alice');
    const line = await firstLineWith(url.replace('postgres@', 'alice:wrong@'));
    expect(line).toMatch(/cannot be reached \(the password is wrong, 28P01\)/);
    expect(line).not.toMatch(/alice/);
  });

  it('is reported if the database does not exist', async () => {
    expect(await firstLineWith(server.url('missing'))).toMatch(/\(there is no such database, 3D000\)/);
  });

  it('is reported if it has too many connections', async () => {
    expect(await firstLineWith(url.replace('postgres@', 'bob@'))).toMatch(
      /\(it has too many connections.*`CONNECTION LIMIT` of the user.*smaller `max`, 53300\)/,
    );
  });

  it('is reported if it is read-only', async () => {
    await admin.query(
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`,
    );
    expect(await firstLineWith(url)).toMatch(
      /takes no more jobs \(it is read-only: connect to the primary if it is a standby.*`default_transaction_read_only`, 25006\)/,
    );
  });

  it('is reported each time its disk is full, and each time it has room again', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: url, webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await receiver.received(1);
    // PostgreSQL's error when a table cannot grow.
    await query(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$`);
    for (const received of [2, 3]) {
      await query('CREATE TRIGGER full_disk BEFORE INSERT ON bullmq.job EXECUTE FUNCTION full_disk()');
      app.analytics.track({ userId: 'u1', event: 'Refused' });
      expect((await app.analytics.flush({ timeout: 300 })).pending).toBe(1);
      await query('DROP TRIGGER full_disk ON bullmq.job');
      await receiver.received(received);
      await app.analytics.flush();
    }
    const outage = [
      expect.stringMatching(
        /takes no more jobs \(its disk is full, 53100\)\. Calls are kept in memory, \d+ so far/,
      ),
      expect.stringMatching(/is back after/),
    ];
    expect(app.log.analytics).toEqual([...outage, ...outage]);
  });

  it('counts as back when it stores again, whatever it refused, even if nothing is tracked', async () => {
    const database = new URL(url).pathname.slice(1);
    const setReadOnly = async (value: 'on' | 'off'): Promise<void> => {
      await admin.query(`ALTER DATABASE ${database} SET default_transaction_read_only = ${value}`);
      await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`,
      );
    };
    const app = await stage.app({ connection: url, worker: false, destinations: DESTINATIONS });
    const create = (): Promise<unknown> =>
      app.context.get(DestinationsService).create({ tenant: 'acme', ...NOWHERE });
    await create();
    const isUp = async (): Promise<boolean> => {
      const { analytics } = await app.context.get(AnalyticsHealthIndicator).isHealthy('analytics');
      return analytics.status === 'up';
    };
    // All tables exist.
    expect(await isUp()).toBe(true);
    await setReadOnly('on');
    // Reads succeed, which shows that the server is there.
    await until(async () => (await isUp()) || undefined);
    await until(async () => {
      // The first call may use a session that has just ended.
      await expect(create()).rejects.toThrow();
      return app.log.analytics.some((line) => /it is read-only.*25006/.test(line)) || undefined;
    });
    await setReadOnly('off');
    await until(async () => (await isUp()) || undefined);
  });

  /** Tracks while the jobs are locked, until the log says what the queue waits for. */
  async function trackLockedOut(app: AnalyticsApp, whileLocked = (): void => undefined): Promise<void> {
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await app.analytics.flush();
    const locker = new pg.Client({ connectionString: url });
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE bullmq.job IN ACCESS EXCLUSIVE MODE');
    whileLocked();
    app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
    const flushed = app.analytics.flush();
    await app.log.line(/has run for|does not answer/);
    await locker.query('COMMIT');
    await locker.end();
    expect(await flushed).toEqual({ queued: 1, refused: 0, pending: 0 });
    expect(app.log.analytics).toEqual([expect.stringMatching(/reports: a statement has run for \d+ s/)]);
  }

  it('keeps a connection that waits for a lock if it allows no other connection to ask why', async () => {
    const database = new URL(url).pathname.slice(1);
    await admin.query(
      `CREATE ROLE carol LOGIN CONNECTION LIMIT 1; GRANT CREATE ON DATABASE ${database} TO carol`,
    );
    const pool = new pg.Pool({ connectionString: url.replace('postgres@', 'carol@'), max: 1 });
    await trackLockedOut(await stage.app({ connection: pool, worker: false, webhooks: NOWHERE }));
  });

  it('keeps a connection that waits for a lock if there is no password with which to ask why', async () => {
    const database = new URL(url).pathname.slice(1);
    await admin.query(
      `CREATE ROLE erin LOGIN PASSWORD 'right'; GRANT CREATE ON DATABASE ${database} TO erin`,
    );
    await server.askForPassword('erin');
    let isAway = false;
    const password = (): Promise<string> =>
      isAway ? Promise.reject(new Error('The issuer of tokens is away.')) : Promise.resolve('right');
    const pool = new pg.Pool({
      host: '127.0.0.1',
      port: server.port,
      database,
      user: 'erin',
      password,
      max: 1,
    });
    await trackLockedOut(await stage.app({ connection: pool, worker: false, webhooks: NOWHERE }), () => {
      isAway = true;
    });
  });

  it('keeps a connection that waits for a lock if its user acts as a role that may not look at it', async () => {
    const database = new URL(url).pathname.slice(1);
    await admin.query(`CREATE ROLE app; GRANT CREATE ON DATABASE ${database} TO app;
      CREATE ROLE app_july LOGIN; GRANT app TO app_july; ALTER ROLE app_july SET role = 'app'`);
    const connection = url.replace('postgres@', 'app_july@');
    await trackLockedOut(await stage.app({ connection, worker: false, webhooks: NOWHERE }));
  });

  it('gets new connections for calls, too, when the worker finds that connections are silent', async () => {
    const proxy = await stage.add(TcpProxy.start({ port: server.port }));
    const receiver = await stage.receiver();
    // Idle connections stay open, as they do if something is tracked now and then.
    const pool = new pg.Pool({ connectionString: proxy.through(url), idleTimeoutMillis: 0 });
    const app = await stage.app({ connection: pool, webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await receiver.received(1);
    await app.settled();
    proxy.swallowOpen();
    await app.log.line(/is back/);
    app.analytics.track({ userId: 'u1', event: 'After' });
    await receiver.received(2);
    expect(app.log.analytics).toEqual([
      expect.stringMatching(/does not answer/),
      expect.stringMatching(/is back/),
    ]);
  });

  it('delivers with the settings of a pool of one connection', async () => {
    const receiver = await stage.receiver();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const app = await stage.app({ connection: pool, webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    await receiver.received(1);
    await app.settled();
    expect(app.log.analytics).toEqual([]);
  });

  it('waits for its disk when it stores jobs, and not when they are taken, put back or ended', async () => {
    const receiver = await stage.receiver({ answer: [503, 200] });
    const app = await stage.app({
      connection: url,
      webhooks: webhooksTo(receiver, { retryWindow: 10_000 }),
    });
    const seen = await noteOfJobs('synchronous_commit');
    app.analytics.track({ userId: 'u1', event: 'Retried' });
    await app.analytics.flush();
    await receiver.received(2);
    await app.settled();
    expect(await seen()).toEqual([
      { operation: 'INSERT', value: 'on' },
      { operation: 'UPDATE', value: 'off' },
    ]);
  });

  it('lets each message be delivered once if transactions are stricter by default', async () => {
    const database = new URL(url).pathname.slice(1);
    await admin.query(`ALTER DATABASE ${database} SET default_transaction_isolation = 'repeatable read'`);
    const receiver = await stage.receiver();
    // The receiver is in this process: while the process stands still, the receiver does not answer either.
    const webhooks = webhooksTo(receiver, { timeout: 60_000 });
    const start = (): Promise<AnalyticsApp> => stage.app({ connection: url, webhooks, flushAt: 1 });
    const apps = [await start(), await start()];
    const seen = await noteOfJobs('transaction_isolation');
    for (let round = 0; round < ROUNDS; round++) {
      for (const { analytics } of apps) {
        for (let n = 0; n < BURST; n++) analytics.track({ userId: 'u1', event: `Event ${n}` });
      }
      await Promise.all(apps.map(({ analytics }) => analytics.flush()));
    }
    await receiver.received(ROUNDS * BURST * apps.length);
    for (const app of apps) await app.settled();
    expect(receiver.requests.length).toBe(ROUNDS * BURST * apps.length);
    for (const { log } of apps) expect(log.analytics).toEqual([]);
    expect(await seen()).toEqual([
      { operation: 'INSERT', value: 'read committed' },
      { operation: 'UPDATE', value: 'read committed' },
    ]);
  });

  describeWith('pgbouncer', PgBouncer.installed, 'behind a PgBouncer', () => {
    it('carries the queue in session mode', async () => {
      const bouncer = await stage.add(PgBouncer.start(server, 'session'));
      const receiver = await stage.receiver();
      const app = await stage.app({ connection: bouncer.through(url), webhooks: webhooksTo(receiver) });
      app.analytics.track({ userId: 'u1', event: 'One' });
      await receiver.received(1);
      await app.settled();
      // An idle worker is woken up by a notification.
      app.analytics.track({ userId: 'u1', event: 'Two' });
      await receiver.received(2);
      await app.settled();
      expect(eventsIn(receiver.requests)).toEqual(['One', 'Two']);
      expect(app.log.analytics).toEqual([]);
      await app.close();
    });

    it('carries the queue with the settings of a pool of one connection', async () => {
      const bouncer = await stage.add(PgBouncer.start(server, 'session'));
      const receiver = await stage.receiver();
      const pool = new pg.Pool({ connectionString: bouncer.through(url), max: 1 });
      const app = await stage.app({ connection: pool, webhooks: webhooksTo(receiver) });
      app.analytics.track({ userId: 'u1', event: 'Tracked' });
      await receiver.received(1);
      await app.settled();
      expect(app.log.analytics).toEqual([]);
      await app.close();
    });

    it('keeps a connection that waits for a lock if there is no session to spare to ask why', async () => {
      const bouncer = await stage.add(PgBouncer.start(server, 'session', 2));
      const pool = new pg.Pool({
        connectionString: bouncer.through(url),
        max: 1,
        // Statements that want the only connection wait until the server has been asked.
        connectionTimeoutMillis: 60_000,
      });
      const app = await stage.app({ connection: pool, worker: false, webhooks: NOWHERE });
      const other = new pg.Client({ connectionString: bouncer.through(url) });
      await other.connect();
      await other.query('SELECT 1');
      await trackLockedOut(app);
      await app.close();
      await other.end();
    });

    it('is found silent although the pooler answers, and gets new connections', async () => {
      const proxy = await stage.add(TcpProxy.start(server));
      const bouncer = await stage.add(PgBouncer.start(proxy, 'session'));
      const receiver = await stage.receiver();
      const app = await stage.app({ connection: bouncer.through(url), webhooks: webhooksTo(receiver) });
      app.analytics.track({ userId: 'u1', event: 'Before' });
      await receiver.received(1);
      await app.settled();
      proxy.swallow(true);
      app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
      await app.log.line(/has run for|does not answer/);
      proxy.swallow(false);
      await receiver.received(2);
      await app.settled();
      expect(app.log.analytics).toEqual([
        expect.stringMatching(/does not answer/),
        expect.stringMatching(/is back/),
      ]);
      await app.close();
    });

    it.each(['transaction', 'statement'] as const)(
      'is refused at the start in %s mode, with an error that says what to set',
      async (mode) => {
        const bouncer = await stage.add(PgBouncer.start(server, mode));
        await expect(
          stage.app({ connection: bouncer.through(url), webhooks: NOWHERE }),
        ).rejects.toMatchObject({
          code: 'UNSUPPORTED_QUEUE_SERVER',
          message: expect.stringMatching(/PgBouncer.*`pool_mode = session`/),
        });
      },
    );
  });
});
