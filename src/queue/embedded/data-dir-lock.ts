import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import { EmbeddedQueueLockedError } from '../../errors/embedded-queue-locked.error.js';

/**
 * Keeps a second process off a folder: two databases on the same files lose jobs without an error.
 * It is the kernel's lock on an open file, so it ends with its process however that one ends, and the
 * file itself means nothing: it stays, and only carries its owner's pid for the error's text.
 */
export class DataDirLock {
  // A plain descriptor: a FileHandle that nobody refers to any more would be closed, and unlocked, by
  // the garbage collector.
  private constructor(private fd: number | undefined) {}

  /** @throws EmbeddedQueueLockedError when the folder is in use. */
  static acquire(dataDir: string): DataDirLock {
    const path = join(dataDir, 'lock');
    const fd = openSync(path, 'a+', 0o600);
    try {
      if (!tryLock(fd)) throw new EmbeddedQueueLockedError(dataDir, readPid(path));
      ftruncateSync(fd);
      writeSync(fd, String(process.pid));
      return new DataDirLock(fd);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Gives the folder free; safe to call again. */
  release(): void {
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
  }
}

function readPid(path: string): number | undefined {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    // Windows lets nobody else read a locked file; the error does without the pid then.
    return undefined;
  }
}
