import { execFile, type ExecFileOptions } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify, types } from 'node:util';

/** Errors of a rename to a folder that is there, and not empty. */
const EXISTS = ['ENOTEMPTY', 'EEXIST'];

const made = new Map<string, Promise<string>>();

/** Where the files of a run of the tests are that are made once, and copied or read. */
export function originalsFolder(): string {
  const folder = process.env.TEST_ORIGINALS;
  if (folder === undefined)
    throw new Error('Run the tests with the configuration of this project (npm test)');
  return folder;
}

/**
 * The path of an empty database's files. They are made once in a run of the tests, by the first spec file that needs
 * them, since making them takes a second or more of a core. Copy them; never write to them.
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

/** A thousand files: several times as fast as Node's own copy, on every platform that runs these tests. */
export async function copyFolder(from: string, to: string, account: ExecFileOptions = {}): Promise<void> {
  await promisify(execFile)('cp', ['-R', `${from}/.`, to], account);
}

async function makeOnce(path: string, make: (dir: string) => Promise<string>): Promise<string> {
  // What is made elsewhere and moved is there as a whole or not at all, for processes that look at the same time.
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
