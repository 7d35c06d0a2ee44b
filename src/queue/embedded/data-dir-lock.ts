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

/** Milliseconds to wait for a folder whose holder is closing: longer than most shutdowns take. */
const PATIENCE = 30_000;
const LOOK_INTERVAL = 50;

/**
 * Keeps other processes out of a folder, since two databases on the same files lose jobs without an error. The lock is
 * the kernel's lock on an open file, so it ends with its process, however the process ends. The file itself means
 * nothing: it stays, and only holds its owner's pid and host for the error message.
 *
 * A file beside it, `closing`, says that the holder is closing. The next opener, in this process or in another one,
 * then waits. This happens when an application is reloaded before its predecessor has ended.
 */
export class DataDirLock {
  // A plain descriptor. The garbage collector would close, and so unlock, a FileHandle without references.
  private constructor(
    private fd: number | undefined,
    private readonly closingPath: string,
  ) {}

  /**
   * Locks the folder. If its holder is closing, waits for the release.
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

  /** Makes other openers wait for the release instead of being refused. Safe to call again. */
  announceRelease(): void {
    if (this.fd === undefined) return;
    try {
      writeFileSync(this.closingPath, '');
    } catch {
      // For example, on a full disk. Other openers are then refused, but the shutdown must not fail for that.
    }
  }

  /** Lets others open the folder; safe to call again. */
  release(): void {
    if (this.fd === undefined) return;
    closeSync(this.fd);
    this.fd = undefined;
    // Only after the unlock: an opener that finds the folder locked, but not this file, does not wait.
    rmSync(this.closingPath, { force: true });
  }
}

/** Resolves to whether the lock was acquired, at once or from a holder that was closing. */
async function lockedInTime(lock: () => boolean, closingPath: string): Promise<boolean> {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    // Checked before the lock: between the two, the holder may release the folder and remove the file.
    const isClosing = existsSync(closingPath);
    if (lock()) return true;
    if (!isClosing || performance.now() > deadline) return false;
    await delay(LOOK_INTERVAL);
  }
}

/** Loads the add-on only when needed: some platforms have no build of it, but can use other queues. */
async function importLock(): Promise<typeof tryLock> {
  try {
    const addOn = await import('fs-native-extensions');
    return addOn.tryLock;
  } catch (cause) {
    throw new EmbeddedQueuePlatformError({ cause });
  }
}

/** Returns the owner's pid, or `undefined` if the owner is in another container, where most pids are 1. */
function readPid(path: string): number | undefined {
  try {
    const [pid, host = hostname()] = readFileSync(path, 'utf8').split(' ');
    return Number(pid) > 0 && host === hostname() ? Number(pid) : undefined;
  } catch {
    // Windows lets nobody else read a locked file. The error then does not name the pid.
    return undefined;
  }
}
