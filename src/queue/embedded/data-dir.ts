import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { types } from 'node:util';
import {
  EmbeddedQueueLockedError,
  EmbeddedQueueOpenError,
  EmbeddedQueuePlatformError,
} from '../../errors/embedded-queue.errors.js';
import { DataDirLock } from './data-dir-lock.js';
import { syncFolder, syncNewFolders } from './synced-folder.js';

/** The folder often lies in a Git working copy, where its files should be ignored. */
const GITIGNORE = '*\n';

/**
 * The folder of an embedded queue. `postgres/` holds the database, `lock` keeps other processes out, and `unfinished`
 * exists while the database is being created. If the first start is killed meanwhile, the next one knows that the
 * folder holds no job yet, and creates the database again.
 */
export class DataDir {
  readonly path: string;
  readonly databasePath: string;
  private readonly unfinishedPath: string;

  constructor(path: string) {
    this.path = resolve(path);
    this.databasePath = join(this.path, 'postgres');
    this.unfinishedPath = join(this.path, 'unfinished');
  }

  /** Creates the folder if needed, and takes its lock. Only the owner may read the personal data that it will hold. */
  async acquire(): Promise<DataDirLock> {
    try {
      const first = await mkdir(this.path, { recursive: true, mode: 0o700 });
      if (first !== undefined) await syncNewFolders(this.path, first);
      return await DataDirLock.acquire(this.path);
    } catch (cause) {
      if (cause instanceof EmbeddedQueueLockedError || cause instanceof EmbeddedQueuePlatformError)
        throw cause;
      throw new EmbeddedQueueOpenError(this.path, types.isNativeError(cause) ? cause.message : undefined, {
        cause,
      });
    }
  }

  /**
   * Calls `open`, and tells it whether the database has to be created first. Only a database that an earlier call
   * marked as unfinished is ever removed. The mark is on the disk before the database exists, and its removal is
   * durable before anything is stored, so that a power cut cannot bring it back. If the mark cannot be removed, the
   * database is ended.
   */
  async openDatabase<T extends { end(): Promise<void> }>(open: (isNew: boolean) => Promise<T>): Promise<T> {
    if (existsSync(this.unfinishedPath)) await rm(this.databasePath, { recursive: true, force: true });
    const isNew = !existsSync(this.databasePath);
    if (!isNew) this.checkDatabase();
    else await this.mark();
    const opened = await open(isNew);
    try {
      if (existsSync(this.unfinishedPath)) await this.unmark();
      return opened;
    } catch (error) {
      await opened.end().catch(() => undefined);
      throw error;
    }
  }

  private async mark(): Promise<void> {
    await writeFile(join(this.path, '.gitignore'), GITIGNORE);
    await writeFile(this.unfinishedPath, '');
    await syncFolder(this.path);
  }

  private async unmark(): Promise<void> {
    // First makes the name of the database's own folder durable.
    await syncFolder(this.path);
    await rm(this.unfinishedPath, { force: true });
    await syncFolder(this.path);
  }

  private checkDatabase(): void {
    // Without this file PGlite would take the folder for an empty one and overwrite it with a new database.
    if (existsSync(join(this.databasePath, 'PG_VERSION'))) return;
    throw new EmbeddedQueueOpenError(this.path, 'its database has no file PG_VERSION');
  }
}
