import { types } from 'node:util';
import type { PGlite } from '@electric-sql/pglite';
import type { PgQueryResult } from 'bullmq';
import { EmbeddedQueueBrokenError } from '../../errors/embedded-queue.errors.js';
import type { DatabaseEngine, DatabaseFiles } from './database-engine.js';
import { CommitGroups } from './commit-groups.js';
import { createPGlite } from './pglite-factory.js';

/** Severities after which a PostgreSQL server would end its process. */
const CRASHES = new Set<unknown>(['PANIC', 'FATAL']);

/**
 * A PGlite in this thread, with results in the shape of `pg`. After a crash PGlite would go on answering from
 * memory, and acknowledge what it can no longer store. So a crashed engine stays broken, and its database
 * must not be closed cleanly either, which would write that memory to the files.
 */
export class PGliteEngine implements DatabaseEngine {
  private broken: EmbeddedQueueBrokenError | undefined;
  private readonly groups: CommitGroups;

  /** @param sync makes earlier commits durable */
  constructor(
    private readonly database: PGlite,
    sync: () => void = () => undefined,
  ) {
    this.groups = new CommitGroups(() => {
      this.sync(sync);
    });
  }

  /** @throws EmbeddedQueueOpenError when the database does not start. */
  static async open(files: DatabaseFiles): Promise<PGliteEngine> {
    const { database, sync } = await createPGlite(files);
    return new PGliteEngine(database, sync);
  }

  query<R>(text: string, params?: readonly unknown[], isDurable?: boolean): Promise<PgQueryResult<R>> {
    return this.groups.run(() => this.run<R>(text, params), isDurable);
  }

  onNotification(listener: (channel: string, payload: string) => void): void {
    this.database.onNotification(listener);
  }

  close(): Promise<void> {
    return this.groups.run(async () => {
      if (!this.broken) await this.database.close();
    });
  }

  /**
   * A failed sync breaks the engine, since nobody knows then what is on the disk. Removed files can still be synced, so
   * `sync` itself throws an `EmbeddedQueueBrokenError` for them.
   */
  private sync(sync: () => void): void {
    try {
      if (!this.broken) sync();
    } catch (cause) {
      throw (this.broken =
        cause instanceof EmbeddedQueueBrokenError ? cause : new EmbeddedQueueBrokenError({ cause }));
    }
  }

  private async run<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    if (this.broken) throw this.broken;
    try {
      // As with `pg`, only the caller knows the type of the rows.
      const result = params
        ? await this.database.query<R>(text, [...params])
        : ((await this.database.exec(text)).at(-1) as PgQueryResult<R> | undefined);
      // PGlite does not throw if the WebAssembly itself crashes: the result is just missing.
      if (!result) throw (this.broken = new EmbeddedQueueBrokenError());
      return { rows: result.rows, rowCount: result.rowCount ?? null };
    } catch (error) {
      throw this.explain(error);
    }
  }

  private explain(error: unknown): unknown {
    if (!types.isNativeError(error)) return error;
    // PGlite attaches the statement and its parameters to errors, and PostgreSQL quotes them. All of that is job data.
    for (const key of ['query', 'params', 'queryOptions', 'where']) Reflect.deleteProperty(error, key);
    if (!('severity' in error) || !CRASHES.has(error.severity)) return error;
    this.broken = new EmbeddedQueueBrokenError({ cause: error });
    return this.broken;
  }
}
