import type { AnalyticsError } from '../../errors/analytics.error.js';
import { DataDir } from './data-dir.js';
import type { DataDirLock } from './data-dir-lock.js';
import { dropTemplateDatabases, migrate } from './database-schema.js';
import { readTemplate } from './database-template.js';
import { EmbeddedUpkeep } from './embedded-upkeep.js';
import { createPGlite, importPGlite, MEMORY_DIR } from './pglite-factory.js';
import { PGlitePool } from './pglite-pool.js';
import { PGliteSession } from './pglite-session.js';

export interface EmbeddedDatabaseOptions {
  /** Folder of the database, made when it is not there; `memory://` keeps nothing. */
  dataDir: string;
  /**
   * Told what went wrong in the background without harming a job, such as an upkeep that failed.
   * @default process.emitWarning
   */
  onWarning?: (warning: AnalyticsError) => void;
}

/**
 * Opens the embedded queue's database, PostgreSQL in this process, as a pool for BullMQ. It survives a
 * kill of the process (what was acknowledged is there afterwards), not a power cut: `fsync` is off.
 * The pool's `end` closes it and gives the folder free.
 *
 * @throws EmbeddedQueueLockedError when the folder is open already, here or in another process.
 * @throws EmbeddedQueueOpenError when the database does not start.
 * @throws MissingPackageError when PGlite is not installed.
 */
export async function openEmbeddedDatabase({
  dataDir,
  onWarning = emitWarning,
}: EmbeddedDatabaseOptions): Promise<PGlitePool> {
  // First of all: without it nothing is to be left on the disk either.
  await importPGlite();
  if (dataDir === MEMORY_DIR) return openPool(MEMORY_DIR, { isNew: true, onWarning });
  const folder = new DataDir(dataDir);
  const lock = await folder.acquire();
  try {
    return await folder.openDatabase((isNew) => openPool(folder.databasePath, { isNew, onWarning, lock }));
  } catch (error) {
    lock.release();
    throw error;
  }
}

function emitWarning({ name, code, message, cause }: AnalyticsError): void {
  process.emitWarning(message, { type: name, code, detail: String(cause) });
}

interface OpenPoolOptions {
  isNew: boolean;
  onWarning: (warning: AnalyticsError) => void;
  /** Released once the database is closed. */
  lock?: DataDirLock;
}

async function openPool(path: string, { isNew, onWarning, lock }: OpenPoolOptions): Promise<PGlitePool> {
  const template = isNew ? await readTemplate() : undefined;
  const session = new PGliteSession(await createPGlite(path, template));
  const pool = new PGlitePool(session, {
    afterStatement: () => {
      upkeep.afterStatement();
    },
    close: async () => {
      try {
        await session.close();
      } finally {
        lock?.release();
      }
    },
  });
  const upkeep = new EmbeddedUpkeep(pool, onWarning);
  try {
    await migrate(pool);
    if (isNew && !template) await dropTemplateDatabases(pool);
    return pool;
  } catch (error) {
    await pool.end();
    throw error;
  }
}
