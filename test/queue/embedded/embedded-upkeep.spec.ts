import { describe, expect, it } from '@jest/globals';
import { openEmbeddedDatabase } from '../../../src/queue/embedded/embedded-database.js';
import { Stage } from '../../support/stage.js';

const stage = new Stage();

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
    // 80 statements outside a transaction are reason enough for a round, in the middle of transactions.
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
});
