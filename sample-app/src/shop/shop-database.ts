import { PGlite } from '@electric-sql/pglite';
import type { OutboxExecutor, OutboxOptions } from 'nestjs-analytics';
import pg from 'pg';

// If two processes that start together created the table at once, PostgreSQL would fail one of them. Hence the lock.
const TABLE = `SELECT pg_advisory_xact_lock(hashtext('paid_orders'));
CREATE TABLE IF NOT EXISTS paid_orders (
  order_id text PRIMARY KEY, visitor_id text NOT NULL, product text NOT NULL)`;

/** The shop's own database, which stores paid orders. */
export abstract class ShopDatabase {
  /** Connection of the outbox, which is in the same database as the orders. */
  abstract readonly connection: OutboxOptions['connection'];
  /** Commits everything that the work writes, or nothing if the work rejects. */
  abstract transaction<T>(work: (tx: OutboxExecutor) => Promise<T>): Promise<T>;
  abstract close(): Promise<void>;

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  /** Opens PostgreSQL at this URL or, without a URL, a database in the memory of this process. */
  static async open(url: string | undefined): Promise<ShopDatabase> {
    if (url === undefined) {
      const pglite = await PGlite.create('memory://');
      await pglite.exec(TABLE);
      return new EmbeddedDatabase(pglite);
    }
    const pool = new pg.Pool({ connectionString: url });
    // An idle connection may be lost at any time; the pool opens another one.
    pool.on('error', () => undefined);
    await pool.query(TABLE);
    return new ServerDatabase(pool);
  }
}

class EmbeddedDatabase extends ShopDatabase {
  constructor(readonly connection: PGlite) {
    super();
  }

  transaction<T>(work: (tx: OutboxExecutor) => Promise<T>): Promise<T> {
    return this.connection.transaction(work);
  }

  close(): Promise<void> {
    return this.connection.closed ? Promise.resolve() : this.connection.close();
  }
}

class ServerDatabase extends ShopDatabase {
  constructor(readonly connection: pg.Pool) {
    super();
  }

  async transaction<T>(work: (tx: OutboxExecutor) => Promise<T>): Promise<T> {
    const client = await this.connection.connect();
    try {
      await client.query('BEGIN');
      const result = await work(client);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  async close(): Promise<void> {
    if (!this.connection.ended) await this.connection.end();
  }
}
