import { once } from 'node:events';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createPostgresBackend, type PgPool, type PgPoolClient, withBackend } from 'bullmq';
import { openEmbeddedDatabase } from '../../../src/queue/embedded/embedded-database.js';

const { Queue, Worker } = withBackend(createPostgresBackend);

let pool: PgPool;
const clients: PgPoolClient[] = [];

beforeAll(async () => {
  pool = await openEmbeddedDatabase({ dataDir: 'memory://' });
});
beforeEach(() => pool.query('CREATE TABLE note (text text NOT NULL)'));
afterEach(async () => {
  jest.restoreAllMocks();
  // A client that a failed test has left in a transaction would keep all others waiting.
  for (const client of clients.splice(0)) client.release();
  await pool.query('DROP TABLE note');
});
afterAll(() => pool.end());

async function connect(): Promise<PgPoolClient> {
  const client = await pool.connect();
  clients.push(client);
  return client;
}

async function notes(): Promise<string[]> {
  const { rows } = await pool.query<{ text: string }>('SELECT text FROM note ORDER BY text', []);
  return rows.map((row) => row.text);
}

describe('the pool over the embedded database', () => {
  it('wakes a waiting worker as soon as a job is added', async () => {
    const statements = jest.spyOn(pool, 'query');
    const worker = new Worker('jobs', () => Promise.resolve('done'), { connection: pool, drainDelay: 3600 });
    const queue = new Queue('jobs', { connection: pool });
    for (const n of [1, 2]) {
      // The worker's last look before it waits. After that, only a notification makes it look again for an hour.
      while (!statements.mock.calls.some(([text]) => text.includes('AS next_delay')))
        await pool.query('SELECT 1');
      const completed = once(worker, 'completed');
      statements.mockClear();
      await queue.add('job', { n });
      expect((await completed)[1]).toBe('done');
    }
    await worker.close();
    await queue.close();
  });

  it('keeps the statements of others out of a transaction until it has ended', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO note VALUES ($1)', ['of the transaction']);
    const other = pool.query('INSERT INTO note VALUES ($1)', ['of another']);
    // Time enough for the other statement to get in between, if the pool let it.
    for (let n = 0; n < 5; n++) await client.query('SELECT 1');
    await client.query('ROLLBACK');
    await other;
    expect(await notes()).toEqual(['of another']);
    client.release();
  });

  it('runs the transactions of several clients one after the other', async () => {
    const write = async (text: string, end: string): Promise<void> => {
      const client = await connect();
      await client.query('BEGIN');
      await client.query('INSERT INTO note VALUES ($1)', [text]);
      await client.query(end);
      client.release();
    };
    await Promise.all([write('a', 'COMMIT'), write('b', 'ROLLBACK'), write('c', 'COMMIT')]);
    expect(await notes()).toEqual(['a', 'c']);
  });

  it('stays in a transaction after ROLLBACK TO a savepoint', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await client.query('SAVEPOINT here');
    await client.query('ROLLBACK TO here');
    const other = pool.query('INSERT INTO note VALUES ($1)', ['of another']);
    for (let n = 0; n < 5; n++) await client.query('SELECT 1');
    await client.query('ROLLBACK');
    await other;
    client.release();
    expect(await notes()).toEqual(['of another']);
  });

  it('rolls back a transaction that a client left open when it was released', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO note VALUES ($1)', ['left']);
    client.release();
    expect(await notes()).toEqual([]);
  });

  it('continues after a failed transaction', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await expect(client.query('INSERT INTO note VALUES ($1)', [null])).rejects.toMatchObject({
      code: '23502',
    });
    await client.query('COMMIT');
    client.release();
    expect(await notes()).toEqual([]);
  });

  it('counts the rows that a statement changed', async () => {
    await pool.query("INSERT INTO note VALUES ('a'), ('b')");
    const { rowCount } = await pool.query('UPDATE note SET text = text || $1', ['!']);
    expect(rowCount).toBe(2);
  });

  it('includes neither the statement nor its data in errors', async () => {
    const error: unknown = await pool
      .query('SELECT $1::jsonb', ['{"traits":"secret-value\\u0000"}'])
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: '22P05' });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/secret-value|SELECT/);
  });

  it('includes the fields of PostgreSQL in errors', async () => {
    await pool.query('ALTER TABLE note ADD CONSTRAINT short CHECK (length(text) < 5)');
    await expect(pool.query('INSERT INTO note VALUES ($1)', ['too long'])).rejects.toMatchObject({
      code: '23514',
      severity: 'ERROR',
      table: 'note',
      constraint: 'short',
      message: expect.stringContaining('violates check constraint'),
    });
  });

  it('leaves the event loop to others while the database works', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await pool.query('SELECT count(*) FROM generate_series(1, 1000000)');
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });

  it('answers statements from before its end, and refuses later ones in words that BullMQ knows', async () => {
    const pool = await openEmbeddedDatabase({ dataDir: 'memory://' });
    const before = pool.query<{ one: number }>('SELECT 1 AS one', []);
    const ended = pool.end();
    await expect(pool.query('SELECT 1')).rejects.toThrow('after calling end on the pool');
    await expect(pool.connect()).rejects.toThrow('after calling end on the pool');
    expect((await before).rows).toEqual([{ one: 1 }]);
    await ended;
  });
});
