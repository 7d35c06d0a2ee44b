import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where a program is: on the PATH, else in one of the further folders. */
export function findBinary(name: string, furtherDirs: string[] = []): string | undefined {
  const dirs = [...(process.env.PATH ?? '').split(delimiter), ...furtherDirs];
  return dirs.map((dir) => join(dir, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
