import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileSources } from './compiled-sources.mjs';

/**
 * Makes the folder of the files that specs copy, including the compiled sources. Its path is in `TEST_ORIGINALS` while
 * the tests run.
 */
export default async function makeOriginalsFolder() {
  process.env.TEST_ORIGINALS = await mkdtemp(join(tmpdir(), 'analytics-originals-'));
  // If the tests run as root, PostgreSQL runs under another account, which has to get into this folder.
  await chmod(process.env.TEST_ORIGINALS, 0o711);
  const compiled = join(process.env.TEST_ORIGINALS, 'compiled');
  await mkdir(compiled);
  await compileSources(compiled);
}
