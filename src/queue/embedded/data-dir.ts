import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { types } from 'node:util';
import { EmbeddedQueueLockedError } from '../../errors/embedded-queue-locked.error.js';
import { EmbeddedQueueOpenError } from '../../errors/embedded-queue-open.error.js';
import { DataDirLock } from './data-dir-lock.js';

/**
 * The folder of an embedded queue: `postgres/` holds the database, `lock` keeps other processes off, and
 * `unfinished` is there while the database is being made. A first start that was killed in between
 * thereby leaves a folder that is known to hold no job yet, and is made anew.
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

  /**
   * Makes the folder where it is not there, and takes its lock. What will be in it is people's data, so
   * it is for its owner only.
   */
  async acquire(): Promise<DataDirLock> {
    try {
      await mkdir(this.path, { recursive: true, mode: 0o700 });
      return DataDirLock.acquire(this.path);
    } catch (cause) {
      if (cause instanceof EmbeddedQueueLockedError) throw cause;
      throw new EmbeddedQueueOpenError(this.path, types.isNativeError(cause) ? cause.message : undefined, {
        cause,
      });
    }
  }

  /**
   * Runs `open` with the state of the database: whether it has to be made first. Only a folder that
   * was marked by an earlier call is ever removed.
   */
  async openDatabase<T>(open: (isNew: boolean) => Promise<T>): Promise<T> {
    if (existsSync(this.unfinishedPath)) await rm(this.databasePath, { recursive: true, force: true });
    const isNew = !existsSync(this.databasePath);
    if (!isNew) this.checkDatabase();
    else await writeFile(this.unfinishedPath, '');
    const opened = await open(isNew);
    await rm(this.unfinishedPath, { force: true });
    return opened;
  }

  private checkDatabase(): void {
    // Without this file PGlite would take the folder for an empty one and make a new database over it.
    if (existsSync(join(this.databasePath, 'PG_VERSION'))) return;
    throw new EmbeddedQueueOpenError(this.path, 'its database has no file PG_VERSION');
  }
}
