import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { tryLock } from 'fs-native-extensions';
import { EmbeddedQueueLockedError, EmbeddedQueuePlatformError } from '../../errors/embedded-queue.errors.js';

/**
 * Keeps other processes out of a folder: two databases on the same files lose jobs without an error. The lock
 * is the kernel's lock on an open file, so it ends with its process, however that ends. The file itself means
 * nothing: it stays, and only holds its owner's pid for the error message.
 */
export class DataDirLock {
  // A plain descriptor. The garbage collector would close, and so unlock, a FileHandle without references.
  private constructor(private fd: number | undefined) {}

  /**
   * @throws EmbeddedQueueLockedError when the folder is in use.
   * @throws EmbeddedQueuePlatformError if there is no build of the lock for this platform.
   */
  static async acquire(dataDir: string): Promise<DataDirLock> {
    const lock = await importLock();
    const path = join(dataDir, 'lock');
    const fd = openSync(path, 'a+', 0o600);
    try {
      if (!lock(fd)) throw new EmbeddedQueueLockedError(dataDir, readPid(path));
      ftruncateSync(fd);
      writeSync(fd, String(process.pid));
      return new DataDirLock(fd);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Lets others open the folder; safe to call again. */
  release(): void {
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
  }
}

/** Loaded only when needed: the add-on has no build for some platforms, which can use other queues. */
async function importLock(): Promise<typeof tryLock> {
  try {
    const addOn = await import('fs-native-extensions');
    return addOn.tryLock;
  } catch (cause) {
    throw new EmbeddedQueuePlatformError({ cause });
  }
}

function readPid(path: string): number | undefined {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    // Windows lets nobody else read a locked file. The error then does not name the pid.
    return undefined;
  }
}
