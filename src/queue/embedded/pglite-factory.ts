import type { PGlite } from '@electric-sql/pglite';
import { EmbeddedQueueOpenError } from '../../errors/embedded-queue-open.error.js';
import { MissingPackageError } from '../../errors/missing-package.error.js';

export const PGLITE_PACKAGE = '@electric-sql/pglite';

/** The data directory of a database that keeps nothing. */
export const MEMORY_DIR = 'memory://';

/** A queue is small and is read from its head: 8 MB of buffers rather than 128, and a short log. */
const SETTINGS = ['shared_buffers=8MB', 'min_wal_size=2MB', 'max_wal_size=32MB'];

/** Log files of 1 MB rather than 16, since whole files are kept. Fixed when the database is made. */
const INITDB_ARGUMENTS = ['--wal-segsize=1'];

/** What PostgreSQL says when it does not start, without the time and the process before it. */
const COMPLAINT = /(?:FATAL|PANIC|DETAIL): .*/;

/**
 * Loads PGlite, which is an optional peer of this package.
 *
 * @throws MissingPackageError when it is not installed.
 */
export async function importPGlite(): Promise<typeof PGlite> {
  const module = await import('@electric-sql/pglite').catch((cause: unknown) => {
    throw MissingPackageError.explain(PGLITE_PACKAGE, cause);
  });
  return module.PGlite;
}

/**
 * Opens a PGlite. Where there is no database yet it is made: from the template in about a second, by
 * initdb, in about four, without one.
 *
 * @throws EmbeddedQueueOpenError when it does not start on this folder.
 */
export async function createPGlite(dataDir: string, template?: Blob): Promise<PGlite> {
  const Database = await importPGlite();
  const complaints: string[] = [];
  try {
    return await Database.create(dataDir, {
      ...(template && { loadDataDir: template }),
      initDbStartParams: INITDB_ARGUMENTS,
      startParams: [...Database.defaultStartParams, ...SETTINGS.flatMap((setting) => ['-c', setting])],
      onStderr: (line) => {
        complaints.push(...(COMPLAINT.exec(line) ?? []));
        return true;
      },
    });
  } catch (cause) {
    throw new EmbeddedQueueOpenError(dataDir, complaints.join('; '), { cause });
  }
}
