import { statSync } from 'node:fs';
import { join } from 'node:path';
import { types } from 'node:util';
import type { PGlite, PGliteOptions } from '@electric-sql/pglite';
import { EmbeddedQueueBrokenError, EmbeddedQueueOpenError } from '../../errors/embedded-queue.errors.js';
import { MissingPackageError } from '../../errors/setup.errors.js';
import type { DatabaseFiles } from './database-engine.js';
import { changeOperations, forgetFailures } from './emscripten-files.js';
import { SyncedFiles } from './synced-files.js';
import { syncTree } from './synced-folder.js';

export const PGLITE_PACKAGE = '@electric-sql/pglite';

/** The data directory of a database that keeps nothing. */
export const MEMORY_DIR = 'memory://';

/** A queue is small and is read from its head, so 8 MB of buffers instead of 128 and a short log are enough. */
const SETTINGS = ['shared_buffers=8MB', 'min_wal_size=2MB', 'max_wal_size=32MB'];

/** Parameter with which PGlite keeps PostgreSQL from ever syncing. */
const NEVER_SYNC = '-F';

/** Selects the only method of syncing the log that PGlite passes on to its files. */
const SYNC_SETTINGS = ['wal_sync_method=fsync'];

/**
 * Log files of 1 MB instead of 16, since whole files are kept. The size is fixed when the database is
 * created.
 */
const INITDB_ARGUMENTS = ['--wal-segsize=1'];

/** Matches PostgreSQL's message when it does not start, without the time and the process before it. */
const START_ERROR = /(?:FATAL|PANIC|DETAIL): .*/;

/**
 * Loads PGlite, an optional peer dependency. Bundlers treat an import inside a `try` as optional.
 *
 * @throws MissingPackageError when it is not installed.
 */
export async function importPGlite(): Promise<typeof PGlite> {
  try {
    const module = await import('@electric-sql/pglite');
    return module.PGlite;
  } catch (cause) {
    throw MissingPackageError.explain(PGLITE_PACKAGE, cause);
  }
}

export interface OpenedPGlite {
  database: PGlite;
  /** Makes earlier commits durable. */
  sync: () => void;
}

/**
 * Opens a PGlite. If there is no database yet, creates it from the template, or with initdb in about four seconds. With
 * `durability: 'disk'`, all files of the database are on the disk then.
 *
 * @throws EmbeddedQueueOpenError when it does not start on this folder.
 */
export async function createPGlite({
  path,
  isNew,
  template,
  durability,
  module,
}: DatabaseFiles): Promise<OpenedPGlite> {
  const Database = await importPGlite();
  const isSynced = durability === 'disk' && path !== MEMORY_DIR;
  const errors: string[] = [];
  const options: PGliteOptions = {
    ...(template && { loadDataDir: template }),
    ...(module && { pgliteWasmModule: module }),
    initDbStartParams: INITDB_ARGUMENTS,
    startParams: [
      ...Database.defaultStartParams.filter((parameter) => !isSynced || parameter !== NEVER_SYNC),
      ...[...SETTINGS, ...(isSynced ? SYNC_SETTINGS : [])].flatMap((setting) => ['-c', setting]),
    ],
    onStderr: (line) => {
      errors.push(...(START_ERROR.exec(line) ?? []));
      return true;
    },
  };
  try {
    if (path === MEMORY_DIR) return { database: await Database.create(path, options), sync: () => undefined };
    const { NodeFS } = await import('@electric-sql/pglite/nodefs');
    const fs = new NodeFS(path);
    changeOperations(fs, forgetFailures);
    const files = isSynced ? new SyncedFiles(fs, isNew) : undefined;
    const database = await Database.create({ ...options, fs, dataDir: path });
    if (files === undefined) return { database, sync: checkOf(path) };
    // The files may be new, or come from a process that did not sync them.
    await syncTree(path);
    files.start();
    const check = checkOf(path);
    const sync = (): void => {
      files.sync();
      check();
    };
    return { database, sync };
  } catch (cause) {
    // If PostgreSQL failed before it could write a message, the error of PGlite has one.
    const reason = errors.length > 0 || !types.isNativeError(cause) ? errors.join('; ') : cause.message;
    throw new EmbeddedQueueOpenError(path, reason, { cause });
  }
}

/** Returns a function that throws an `EmbeddedQueueBrokenError` once the folder was removed or replaced. */
function checkOf(path: string): () => void {
  const file = join(path, 'PG_VERSION');
  const { ino } = statSync(file);
  return () => {
    if (statSync(file, { throwIfNoEntry: false })?.ino !== ino)
      throw new EmbeddedQueueBrokenError({ removed: path });
  };
}
