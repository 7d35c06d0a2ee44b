import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import type { AnalyticsError } from '../../../src/errors/analytics.error.js';
import { openEmbeddedDatabase } from '../../../src/queue/embedded/embedded-database.js';
import { EmbeddedFolders } from '../../support/embedded-folder.js';
import { Stage } from '../../support/stage.js';

/** Bytes of a page's header, which PostgreSQL checks when it reads the page. */
const PAGE_HEADER = 24;
/** Selects the beginning of the log that PostgreSQL would need after a crash. */
const CHECKPOINT = 'SELECT redo_lsn::text AS at FROM pg_control_checkpoint()';

/** Makes a table that the upkeep leaves alone look as it would after 150 million transactions. */
const GROW_OLD = `WITH old AS (
    SELECT ((txid_current() + (1::bigint << 32) - 150000000) % (1::bigint << 32))::text::xid AS xid
  ), of_table AS (
    UPDATE pg_class SET relfrozenxid = old.xid FROM old WHERE relname = 'pg_proc'
  )
  UPDATE pg_database SET datfrozenxid = old.xid FROM old WHERE datname = current_database()`;
const AGE = 'SELECT age(datfrozenxid)::int AS age FROM pg_database WHERE datname = current_database()';

/** Writes more than the log may contain between two rounds. */
const WRITE_MUCH = `CREATE TABLE public.much AS SELECT repeat('x', 1000) AS text FROM generate_series(1, 10000)`;

const stage = new Stage();
const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

describe('the upkeep of the embedded database', () => {
  it('stays out of transactions', async () => {
    const warnings: Error[] = [];
    const pool = await openEmbeddedDatabase({
      dataDir: 'memory://',
      onWarning: (warning) => warnings.push(warning),
    });
    await stage.add(Promise.resolve({ close: () => pool.end() }));
    await pool.query('CREATE TABLE note (text text)');
    const tidied = async (): Promise<number> => {
      const table = `SELECT coalesce(sum(vacuum_count), 0)::int AS count FROM pg_stat_all_tables WHERE relname = 'job'`;
      const { rows } = await pool.query<{ count: number }>(table, []);
      return rows[0]?.count ?? 0;
    };
    const before = await tidied();
    const client = await pool.connect();
    // 80 statements outside a transaction make a round due, in the middle of transactions.
    for (let n = 0; n < 80; n++) {
      await client.query('BEGIN');
      const other = pool.query('SELECT 1');
      await client.query('INSERT INTO note VALUES ($1)', [String(n)]);
      await client.query('COMMIT');
      await other;
    }
    client.release();
    expect(await tidied()).toBeGreaterThan(before);
    expect(warnings).toEqual([]);
  });

  it('cleans up the other tables, and shortens the log, if a table is damaged', async () => {
    const dataDir = await folders.copiedDataDir();
    const intact = await openEmbeddedDatabase({ dataDir });
    await intact.query(`CREATE TABLE public.a_note AS SELECT 'text' AS text`);
    const { rows: files } = await intact.query<{ path: string }>(
      `SELECT pg_relation_filepath('public.a_note') AS path`,
    );
    await intact.end();
    const file = await open(join(dataDir, 'postgres', files[0]?.path ?? ''), 'r+');
    await file.write(Buffer.alloc(PAGE_HEADER, 0xff), 0, PAGE_HEADER, 0);
    await file.close();

    const warnings: AnalyticsError[] = [];
    const pool = await openEmbeddedDatabase({ dataDir, onWarning: (warning) => warnings.push(warning) });
    await stage.add(Promise.resolve({ close: () => pool.end() }));
    const checkpoint = async (): Promise<string | undefined> =>
      (await pool.query<{ at: string }>(CHECKPOINT, [])).rows[0]?.at;
    const before = await checkpoint();
    while (warnings.length === 0) await pool.query('SELECT 1');
    expect(warnings).toEqual([
      expect.objectContaining({
        code: 'EMBEDDED_QUEUE_UPKEEP_FAILED',
        message: expect.stringContaining('One of its pages is damaged.'),
        cause: expect.objectContaining({ code: 'XX001' }),
      }),
    ]);
    expect(await checkpoint()).not.toBe(before);

    // The disk fills up later, with no room to shorten the log.
    const query = pool.query.bind(pool);
    let refused = 0;
    jest.spyOn(pool, 'query').mockImplementation((text, ...rest) => {
      if (text !== 'CHECKPOINT' || refused === 2) return query(text, ...rest);
      refused++;
      return Promise.reject(Object.assign(new Error('No space left on device'), { code: '53100' }));
    });
    const full = await checkpoint();
    await pool.query(WRITE_MUCH);
    while ((await checkpoint()) === full);
    expect(refused).toBe(2);
    expect(warnings.slice(1)).toEqual([
      expect.objectContaining({ cause: expect.objectContaining({ code: '53100' }) }),
    ]);
  });

  it('vacuums each table once while the log cannot be shortened', async () => {
    const pool = await openEmbeddedDatabase({ dataDir: 'memory://', onWarning: () => undefined });
    await stage.add(Promise.resolve({ close: () => pool.end() }));
    const query = pool.query.bind(pool);
    const ran: string[] = [];
    jest.spyOn(pool, 'query').mockImplementation((text, ...rest) => {
      if (!/^(VACUUM|CHECKPOINT)/.test(text)) return query(text, ...rest);
      ran.push(text);
      if (text !== 'CHECKPOINT') return query(text, ...rest);
      return Promise.reject(Object.assign(new Error('No space left on device'), { code: '53100' }));
    });
    const checkpoints = (): number => ran.filter((text) => text === 'CHECKPOINT').length;
    while (checkpoints() < 3) await pool.query('SELECT 1');
    expect(ran.filter((text) => text === 'VACUUM job')).toHaveLength(1);
    // Much was written, perhaps while the disk had room for a moment.
    await pool.query(WRITE_MUCH);
    while (checkpoints() < 6) await pool.query('SELECT 1');
    expect(ran.filter((text) => text === 'VACUUM job')).toHaveLength(2);
  });

  it('freezes the rows of all tables after many transactions', async () => {
    const warnings: AnalyticsError[] = [];
    const pool = await openEmbeddedDatabase({
      dataDir: 'memory://',
      onWarning: (warning) => warnings.push(warning),
    });
    await stage.add(Promise.resolve({ close: () => pool.end() }));
    await pool.query(GROW_OLD);
    const age = async (): Promise<number> => (await pool.query<{ age: number }>(AGE, [])).rows[0]?.age ?? 0;
    const checkpoint = async (): Promise<string | undefined> =>
      (await pool.query<{ at: string }>(CHECKPOINT, [])).rows[0]?.at;
    expect(await age()).toBeGreaterThan(149_000_000);
    const before = await checkpoint();
    while ((await checkpoint()) === before);
    expect(await age()).toBeLessThan(1_000_000);
    expect(warnings).toEqual([]);
  });
});
