import pg from 'pg';
import { until } from './until.js';

const WAITING = `
  SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** A session of another client, which can make other clients' statements wait. */
export class PostgresSession {
  private constructor(private readonly client: pg.Client) {}

  static async open(connection: string): Promise<PostgresSession> {
    const client = new pg.Client({ connectionString: connection });
    // The session may end with its server.
    client.on('error', () => undefined);
    await client.connect();
    return new PostgresSession(client);
  }

  async query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
    return (await this.client.query<Row>(text)).rows;
  }

  /**
   * Does work while this session holds the locks of some statements.
   *
   * @param text statements; the first may set the kind of their transaction
   */
  async holding<T>(text: string, work: () => Promise<T>): Promise<T> {
    await this.client.query(`BEGIN; ${text}`);
    try {
      return await work();
    } finally {
      await this.client.query('COMMIT');
    }
  }

  /** Resolves to the number of other clients' statements that wait for a lock. */
  async waitingNow(): Promise<number> {
    // Within a transaction, PostgreSQL keeps showing the sessions as they were when first asked.
    await this.client.query('SELECT pg_stat_clear_snapshot()');
    const [row] = await this.query<{ count: number }>(WAITING);
    return row?.count ?? 0;
  }

  /** Resolves when at least `count` statements of other clients wait for a lock. */
  async waiting(count: number): Promise<void> {
    await until(async () => ((await this.waitingNow()) >= count ? true : undefined));
  }

  close(): Promise<void> {
    return this.client.end();
  }
}
