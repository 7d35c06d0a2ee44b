import { types } from 'node:util';
import type { PGlite, Results } from '@electric-sql/pglite';
import type { PgQueryResult } from 'bullmq';
import { EmbeddedQueueBrokenError } from '../../errors/embedded-queue-broken.error.js';
import { Mutex } from './mutex.js';

/** Severities after which a PostgreSQL server would end its process. */
const CRASHES = new Set<unknown>(['PANIC', 'FATAL']);

/**
 * The one session that a PGlite has, answering in the shape of `pg`. Whoever uses it takes turns: a
 * transaction keeps its turn from BEGIN to COMMIT, or others' statements would become part of it.
 *
 * After a crash PGlite would go on answering from memory, and acknowledge what it cannot store any
 * more. So a session that crashed stays broken, and its database must not be closed in good order
 * either, which would write that memory to the files.
 */
export class PGliteSession {
  readonly turns = new Mutex();
  private broken: EmbeddedQueueBrokenError | undefined;

  constructor(private readonly database: PGlite) {}

  /** Runs a statement; without parameters it may be several. Only to be called in a turn. */
  async query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    if (this.broken) throw this.broken;
    const result = await this.run<R>(text, params).catch((error: unknown) => {
      throw this.explain(error);
    });
    // A crash of the WebAssembly itself is not thrown by PGlite: the answer is just not there.
    if (!result) throw (this.broken = new EmbeddedQueueBrokenError());
    return { rows: result.rows, rowCount: result.rowCount ?? null };
  }

  onNotification(listener: (channel: string, payload: string) => void): void {
    this.database.onNotification(listener);
  }

  /** Closes the database. Only to be called in a turn. */
  async close(): Promise<void> {
    if (!this.broken) await this.database.close();
  }

  private async run<R>(text: string, params?: readonly unknown[]): Promise<Results<R> | undefined> {
    if (params) return this.database.query<R>(text, [...params]);
    const results = await this.database.exec(text);
    // As with `pg`, the caller alone knows the type of the rows that the statement gives.
    return results.at(-1) as Results<R> | undefined;
  }

  private explain(error: unknown): unknown {
    if (!types.isNativeError(error)) return error;
    // PGlite hangs statement and parameters on its errors, PostgreSQL quotes from them: all of it job data.
    for (const key of ['query', 'params', 'queryOptions', 'where']) Reflect.deleteProperty(error, key);
    if (!('severity' in error) || !CRASHES.has(error.severity)) return error;
    this.broken = new EmbeddedQueueBrokenError({ cause: error });
    return this.broken;
  }
}
