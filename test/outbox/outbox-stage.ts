import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { AnalyticsApp } from '../support/analytics-app.js';

/** The application's own database, with a table of orders. */
export class Shop {
  private constructor(
    readonly url: string,
    readonly pool: pg.Pool,
  ) {}

  static async open(url: string): Promise<Shop> {
    const shop = await Shop.connect(url);
    await shop.pool.query('CREATE TABLE orders (id text PRIMARY KEY, total numeric NOT NULL)');
    return shop;
  }

  /** Connects to the database of a shop that has its table already, for example as another user. */
  static connect(url: string): Promise<Shop> {
    const pool = new pg.Pool({ connectionString: url, max: 20 });
    pool.on('error', () => undefined);
    return Promise.resolve(new Shop(url, pool));
  }

  /** Pays an order in a transaction, with its event. Resolves to the messageId, or rejects if `fails` is true. */
  async pay(
    app: Pick<AnalyticsApp, 'analytics'>,
    { id, fails = false, tenant }: { id?: string; fails?: boolean; tenant?: string } = {},
  ): Promise<string> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const order = id ?? randomUUID();
      await client.query('INSERT INTO orders VALUES ($1, 39.95)', [order]);
      const analytics = tenant === undefined ? app.analytics : app.analytics.tenant(tenant);
      const messageId = await analytics
        .within(client)
        .track({ userId: 'u1', event: 'Order Completed', properties: { order } });
      if (fails) throw new Error('the payment failed');
      await client.query('COMMIT');
      return messageId;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  async rows<R extends object>(text: string): Promise<R[]> {
    const { rows } = await this.pool.query<R>(text);
    return rows;
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}
