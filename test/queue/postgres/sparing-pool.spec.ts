import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { preparing } from '../../../src/queue/postgres/postgres-pool.js';
import { SparingPool, type SparingOptions } from '../../../src/queue/postgres/sparing-pool.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';

/** More than the connections that a pool has asked for when the first of them is refused for good. */
const STATEMENTS = 1_000;

describeWith(
  'postgres',
  PostgresServer.installed,
  'a pool of a PostgreSQL that gives no more connections',
  () => {
    const pools: SparingPool[] = [];
    let server: PostgresServer;
    let admin: pg.Client;

    beforeAll(async () => {
      server = await PostgresServer.create();
      admin = new pg.Client({ connectionString: server.url() });
      await admin.connect();
      await admin.query('CREATE ROLE alice LOGIN');
    });
    afterEach(async () => {
      await Promise.all(pools.splice(0).map((pool) => pool.end()));
    });
    afterAll(async () => {
      await admin.end();
      await server.dispose();
    });

    async function limit(connections: number): Promise<void> {
      await admin.query(`ALTER ROLE alice CONNECTION LIMIT ${connections}`);
    }

    function open(options: SparingOptions, onRefused = (): void => undefined): SparingPool {
      const pool = new pg.Pool({
        connectionString: server.url().replace('postgres@', 'alice@'),
        // All statements may wait for one connection.
        connectionTimeoutMillis: 60_000,
        ...preparing((client) => {
          sparing.opened(client);
          return Promise.resolve();
        }),
      });
      const sparing = new SparingPool(pool, pools, options, onRefused);
      pools.push(sparing);
      return sparing;
    }

    async function ask(pool: SparingPool, statements = STATEMENTS): Promise<void> {
      await Promise.all(Array.from({ length: statements }, () => pool.query('SELECT 1')));
    }

    it('has all statements answered by its substitute while it has no connection', async () => {
      await limit(1);
      const substitute = open({ keeps: 1 });
      await substitute.query('SELECT 1');
      const pool = open({ keeps: 0, substitute: () => substitute });
      await ask(pool);
      expect([pool.size, substitute.size]).toEqual([0, 1]);
    });

    it('has all statements answered by its only connection', async () => {
      await limit(1);
      const pool = open({ keeps: 1 });
      await ask(pool);
      expect(pool.size).toBe(1);
    });

    it('gets a connection from another pool, which continues with the others', async () => {
      await limit(2);
      const rich = open({ keeps: 1 });
      await Promise.all([rich.query('SELECT pg_sleep(0.1)'), rich.query('SELECT pg_sleep(0.1)')]);
      const poor = open({ keeps: 1 });
      await Promise.all([ask(rich, 20), ask(poor, 20)]);
      expect([rich.size, poor.size]).toEqual([1, 1]);
    });

    it('waits until the server has taken back the connection that another pool gave up', async () => {
      await limit(2);
      const rich = open({ keeps: 1 });
      const own = 'SELECT pg_backend_pid() AS pid, pg_sleep(0.1)';
      const answers = await Promise.all([rich.query<{ pid: number }>(own), rich.query<{ pid: number }>(own)]);
      const pids = answers.flatMap(({ rows }) => Array.from(rows, ({ pid }) => pid));
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      let refusals = 0;
      const poor = open({ keeps: 1 }, () => {
        refusals++;
        // At the first refusal, the other pool gives up its connection.
        if (refusals === 2) for (const pid of pids) process.kill(pid, 'SIGCONT');
      });
      await poor.query('SELECT 1');
      expect([rich.size, poor.size]).toEqual([1, 1]);
    });

    it('does not get the only connection of another pool', async () => {
      await limit(1);
      const other = open({ keeps: 1 });
      await other.query('SELECT 1');
      await expect(open({ keeps: 1 }).query('SELECT 1')).rejects.toMatchObject({ code: '53300' });
      expect(other.size).toBe(1);
    });
  },
);
