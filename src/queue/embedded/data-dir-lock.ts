import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { tryLock } from 'fs-native-extensions';
import { EmbeddedQueueLockedError, EmbeddedQueuePlatformError } from '../../errors/embedded-queue.errors.js';

/** How long a folder is waited for whose holder is closing, in milliseconds: longer than most shutdowns take. */
const PATIENCE = 30_000;
const LOOK_INTERVAL = 50;

/**
 * Keeps other processes out of a folder: two databases on the same files lose jobs without an error. The lock
 * is the kernel's lock on an open file, so it ends with its process, however that ends. The file itself means
 * nothing: it stays, and only holds its owner's pid and host for the error message.
 *
 * A file beside it says that the holder is closing. Whoever comes next, in this process or in another one, then
 * waits, as where an application is reloaded and nobody waits for the end of the one before.
 */
export class DataDirLock {
  // A plain descriptor. The garbage collector would close, and so unlock, a FileHandle without references.
  private constructor(
    private fd: number | undefined,
    private readonly closingPath: string,
  ) {}

  /**
   * Waits for a holder that is closing.
   *
   * @throws EmbeddedQueueLockedError when the folder is in use.
   * @throws EmbeddedQueuePlatformError if there is no build of the lock for this platform.
   */
  static async acquire(dataDir: string): Promise<DataDirLock> {
    const lock = await importLock();
    const path = join(dataDir, 'lock');
    const closingPath = join(dataDir, 'closing');
    const fd = openSync(path, 'a+', 0o600);
    try {
      if (!(await lockedInTime(() => lock(fd), closingPath)))
        throw new EmbeddedQueueLockedError(dataDir, readPid(path));
      rmSync(closingPath, { force: true });
      ftruncateSync(fd);
      writeSync(fd, `${process.pid} ${hostname()}`);
      return new DataDirLock(fd, closingPath);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Has others wait for the end instead of being refused; safe to call again. */
  announceRelease(): void {
    if (this.fd === undefined) return;
    try {
      writeFileSync(this.closingPath, '');
    } catch {
      // On a full disk, say. Others are refused then, as before, and the end must not fail for that.
    }
  }

  /** Lets others open the folder; safe to call again. */
  release(): void {
    if (this.fd === undefined) return;
    closeSync(this.fd);
    this.fd = undefined;
    // Only now: who finds the folder locked, and this file gone, does not wait.
    rmSync(this.closingPath, { force: true });
  }
}

/** Resolves to whether the lock was got, at once or from a holder that was closing. */
async function lockedInTime(lock: () => boolean, closingPath: string): Promise<boolean> {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    // Asked first: between the two, the holder may let the folder go.
    const isClosing = existsSync(closingPath);
    if (lock()) return true;
    if (!isClosing || performance.now() > deadline) return false;
    await delay(LOOK_INTERVAL);
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

/** The owner's pid; `undefined` if it is in another container, where most processes have the number 1. */
function readPid(path: string): number | undefined {
  try {
    const [pid, host = hostname()] = readFileSync(path, 'utf8').split(' ');
    return Number(pid) > 0 && host === hostname() ? Number(pid) : undefined;
  } catch {
    // Windows lets nobody else read a locked file. The error then does not name the pid.
    return undefined;
  }
}
