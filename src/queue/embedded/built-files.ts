import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { PACKAGE_ROOT } from '#package-root';

/**
 * Returns the path of a file that the build puts next to the compiled ES modules. Node runs such a file whichever
 * module format the application has loaded. A package that was bundled into one file has no such files.
 */
export function builtFile(name: string): string {
  return join(PACKAGE_ROOT, 'dist/esm/queue/embedded', name);
}

/** Returns the path of the file that an installed package is loaded from. */
export function entryOf(packageName: string): string {
  return createRequire(resolve(PACKAGE_ROOT, 'package.json')).resolve(packageName);
}
