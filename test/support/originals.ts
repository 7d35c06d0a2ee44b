import { execFile, type ExecFileOptions } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify, types } from 'node:util';

/** Errors of a rename to a folder that exists and is not empty. */
const EXISTS = ['ENOTEMPTY', 'EEXIST'];

const made = new Map<string, Promise<string>>();

/** Returns the folder of the files that are made once for a run of the tests, and then copied or read. */
export function originalsFolder(): string {
  const folder = process.env.TEST_ORIGINALS;
  if (folder === undefined)
    throw new Error('Run the tests with the configuration of this project (npm test)');
  return folder;
}

/**
 * Resolves to the path of an empty database's files. The first spec that needs the files makes them, once for a run of
 * the tests, since that takes a second or more of CPU time. Copy the files; never write to them.
 *
 * @param make makes the files in a new folder, and resolves to their path
 */
export function original(name: string, make: (dir: string) => Promise<string>): Promise<string> {
  let path = made.get(name);
  if (path === undefined) {
    path = makeOnce(join(originalsFolder(), name), make);
    made.set(name, path);
  }
  return path;
}

/** Copies a folder of a thousand files several times as fast as Node, on every platform that runs these tests. */
export async function copyFolder(from: string, to: string, account: ExecFileOptions = {}): Promise<void> {
  await promisify(execFile)('cp', ['-R', `${from}/.`, to], account);
}

async function makeOnce(path: string, make: (dir: string) => Promise<string>): Promise<string> {
  // Made elsewhere and then moved, so that other processes see either the whole folder or none.
  const dir = await mkdtemp(`${path}-`);
  try {
    await rename(await make(dir), path);
  } catch (error) {
    if (!types.isNativeError(error) || !('code' in error) || !EXISTS.includes(String(error.code)))
      throw error;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  return path;
}
