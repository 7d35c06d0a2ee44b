import type { PgPool } from 'bullmq';

/** A PostgreSQL database that is used through a library other than `pg`, such as PGlite. It is never closed. */
export interface OutboxDatabase {
  /** Runs one statement with `$1`, `$2` … as parameters. */
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
  /**
   * Calls back for each notification on a channel, with its payload. Without a payload, a commit to any outbox
   * in the database counts. Resolves to a function that stops this. Without `listen`, the table is only polled.
   */
  listen?(channel: string, callback: (payload?: string) => void): Promise<() => Promise<void>>;
}

/** The outbox: a table in the application's own PostgreSQL database. */
export interface OutboxOptions {
  /**
   * The application's database: a `postgres://` URL, a `pg` Pool (only its settings are used), or a PGlite.
   */
  connection: string | PgPool | OutboxDatabase;
  /** Schema of the table: letters, digits and underscores, no digit first. @default 'nestjs_analytics' */
  schema?: string | undefined;
  /** Name of the table: letters, digits and underscores, no digit first. @default 'outbox' */
  table?: string | undefined;
  /** Creates the table at start if it is missing. @default false */
  migrate?: boolean | undefined;
}
