import { PGlite } from '@electric-sql/pglite';
import type { OutboxExecutor, OutboxOptions } from 'nestjs-analytics';
import pg from 'pg';

// The lock keeps two processes that start together from creating the table at once, of which PostgreSQL fails one.
const TABLE = `SELECT pg_advisory_xact_lock(hashtext('paid_orders'));
CREATE TABLE IF NOT EXISTS paid_orders (
  order_id text PRIMARY KEY, visitor_id text NOT NULL, product text NOT NULL)`;

/** The shop's own database, where orders are paid. */
export abstract class ShopDatabase {
  /** Where the outbox is: beside the orders. */
  abstract readonly connection: OutboxOptions['connection'];
  /** Commits what the work wrote, or nothing of it if the work rejects. */
  abstract transaction<T>(work: (tx: OutboxExecutor) => Promise<T>): Promise<T>;
  abstract close(): Promise<void>;

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  /** PostgreSQL at a URL; without one, a database in the memory of this process. */
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
