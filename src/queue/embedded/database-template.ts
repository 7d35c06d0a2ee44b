import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { types } from 'node:util';
import { builtFile, entryOf } from './built-files.js';
import { PGLITE_PACKAGE } from './pglite-factory.js';

const MEDIA_TYPE = 'application/gzip';

/** Error codes of Node for a missing file and a missing package. */
const NOT_THERE = new Set(['ENOENT', 'MODULE_NOT_FOUND']);

/**
 * Resolves to the path of the template for the installed PGlite. PGlite's version is part of the name, because a
 * database's files only work with the PostgreSQL that wrote them. BullMQ's version is not, since its migrations run on
 * the template as on any other database.
 */
export async function templatePath(): Promise<string> {
  const manifest: unknown = JSON.parse(
    await readFile(join(dirname(entryOf(PGLITE_PACKAGE)), '..', 'package.json'), 'utf8'),
  );
  return builtFile(`template-pglite-${versionOf(manifest)}.tar.gz`);
}

/** Resolves to the template of a migrated, empty database; `undefined` in a bundle or if this PGlite has none. */
export async function readTemplate(): Promise<Blob | undefined> {
  try {
    return new Blob([await readFile(await templatePath())], { type: MEDIA_TYPE });
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}

/** Returns whether a file or a package could not be read because it does not exist. */
export function isNotThere(error: unknown): boolean {
  return types.isNativeError(error) && 'code' in error && NOT_THERE.has(String(error.code));
}

function versionOf(manifest: unknown): string {
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return known ? String(manifest.version) : 'unknown';
}
