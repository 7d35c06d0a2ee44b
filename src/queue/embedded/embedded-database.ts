import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { types } from 'node:util';
import { AnalyticsError } from '../../errors/analytics.error.js';
import {
  EmbeddedQueueOpenError,
  EmbeddedQueueThreadError,
  EmbeddedQueueUnclosedError,
} from '../../errors/embedded-queue.errors.js';
import { releaseLocks } from '../postgres/job-locks.js';
import { builtFile } from './built-files.js';
import { compiledDatabase } from './compiled-database.js';
import { DataDir } from './data-dir.js';
import type { DataDirLock } from './data-dir-lock.js';
import type { Durability } from '../../options/resolved-options.js';
import type { DatabaseEngine, DatabaseFiles } from './database-engine.js';
import { dropTemplateDatabases, migrate } from './database-schema.js';
import { readTemplate } from './database-template.js';
import { DatabaseThread } from './database-thread.js';
import { EmbeddedUpkeep } from './embedded-upkeep.js';
import { PGliteEngine } from './pglite-engine.js';
import { importPGlite, MEMORY_DIR } from './pglite-factory.js';
import { PGlitePool } from './pglite-pool.js';
import { THREAD_FILE } from './thread-messages.js';

export interface EmbeddedDatabaseOptions {
  /** Folder of the database, created if needed; `memory://` keeps nothing. */
  dataDir: string;
  /** What acknowledged jobs survive. @default 'disk' */
  durability?: Durability;
  /** Path of the thread's code. @default the built file */
  threadFile?: string;
  /**
   * Called with problems that harm no job, such as failed maintenance in the background.
   * @default process.emitWarning
   */
  onWarning?: (warning: AnalyticsError) => void;
}

/**
 * Opens the embedded queue's database, PostgreSQL in a thread of this process, as a pool for BullMQ. Everything that
 * was acknowledged survives a kill of the process, and with `durability: 'disk'` also a power cut. The pool's `end`
 * closes the database and releases the folder. Anyone who opens the folder meanwhile waits for that.
 *
 * @throws EmbeddedQueueLockedError when the folder is open already, here or in another process, and not closing.
 * @throws EmbeddedQueueOpenError when the database, or its thread, does not start.
 * @throws MissingPackageError when PGlite is not installed.
 */
export async function openEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<PGlitePool> {
  // Started early. The code that opens the database awaits the result and handles a failure.
  if (hasThread(options)) compiledDatabase().catch(() => undefined);
  // This comes first: if PGlite is missing, nothing should be left on the disk.
  await importPGlite();
  try {
    return await (options.dataDir === MEMORY_DIR ? openPool(MEMORY_DIR, true, options) : openFolder(options));
  } catch (error) {
    throw explain(error, options.dataDir);
  }
}

async function openFolder(options: EmbeddedDatabaseOptions): Promise<PGlitePool> {
  const folder = new DataDir(options.dataDir);
  const lock = await folder.acquire();
  try {
    return await folder.openDatabase((isNew) => openPool(folder.databasePath, isNew, options, lock));
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Node's message for an unreadable file or a thread that cannot start names neither the queue nor what to do. */
function explain(error: unknown, dataDir: string): unknown {
  if (error instanceof AnalyticsError || !types.isNativeError(error)) return error;
  const place = dataDir === MEMORY_DIR ? dataDir : resolve(dataDir);
  return new EmbeddedQueueOpenError(place, error.message, { cause: error });
}

function emitWarning({ name, code, message, cause }: AnalyticsError): void {
  process.emitWarning(message, {
    type: name,
    code,
    ...(types.isNativeError(cause) && { detail: String(cause) }),
  });
}

function hasThread({ threadFile = builtFile(THREAD_FILE) }: EmbeddedDatabaseOptions): boolean {
  return existsSync(threadFile);
}

/** Opens the database in a thread of its own, or in this thread if the thread's code does not exist. */
async function openEngine(files: DatabaseFiles, options: EmbeddedDatabaseOptions): Promise<DatabaseEngine> {
  const { threadFile = builtFile(THREAD_FILE), onWarning = emitWarning } = options;
  if (hasThread(options)) return DatabaseThread.open(threadFile, files);
  onWarning(new EmbeddedQueueThreadError(threadFile));
  return PGliteEngine.open(files);
}

/** @param lock released once the database is closed */
async function openPool(
  path: string,
  isNew: boolean,
  options: EmbeddedDatabaseOptions,
  lock?: DataDirLock,
): Promise<PGlitePool> {
  const { durability = 'disk', onWarning = emitWarning } = options;
  const template = isNew ? await readTemplate() : undefined;
  const engine = await openEngine({ path, isNew, template, durability }, options);
  const pool = new PGlitePool(engine, {
    afterStatement: () => {
      upkeep.afterStatement();
    },
    announceEnd: () => lock?.announceRelease(),
    close: async () => {
      try {
        await engine.close();
      } finally {
        lock?.release();
      }
    },
    breakOff:
      engine.breakOff &&
      (async () => {
        onWarning(new EmbeddedQueueUnclosedError());
        await engine.breakOff?.();
      }),
  });
  const upkeep = new EmbeddedUpkeep(pool, onWarning);
  try {
    await migrate(pool);
    if (isNew && !template) await dropTemplateDatabases(pool);
    if (!isNew) await releaseLocks(pool);
    return pool;
  } catch (error) {
    await pool.end();
    throw error;
  }
}
