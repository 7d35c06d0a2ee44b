import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { types } from 'node:util';
import { PGLITE_PACKAGE } from './pglite-factory.js';

/** From `src` and from `dist` alike this is the built package's folder, where the template is kept. */
const TEMPLATE_DIR = new URL('../../../dist/queue/embedded/', import.meta.url);

const MEDIA_TYPE = 'application/gzip';

/**
 * Where the template for the installed PGlite is: its version is part of the name, because a database's
 * files fit the PostgreSQL that wrote them. BullMQ's version is not, since its migrations run over the
 * template as over any other database.
 */
export async function templateUrl(): Promise<URL> {
  const entry = createRequire(import.meta.url).resolve(PGLITE_PACKAGE);
  const manifest: unknown = JSON.parse(await readFile(join(dirname(entry), '..', 'package.json'), 'utf8'));
  return new URL(`template-pglite-${versionOf(manifest)}.tar.gz`, TEMPLATE_DIR);
}

/** The template of a migrated, empty database, or `undefined` when there is none for this PGlite. */
export async function readTemplate(): Promise<Blob | undefined> {
  try {
    return new Blob([await readFile(await templateUrl())], { type: MEDIA_TYPE });
  } catch (error) {
    if (types.isNativeError(error) && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function versionOf(manifest: unknown): string {
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return known ? String(manifest.version) : 'unknown';
}
