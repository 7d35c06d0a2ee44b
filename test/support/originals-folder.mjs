import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileSources } from './compiled-sources.mjs';

/**
 * Makes the folder of the files that spec files copy, with the compiled sources. Its path is in `TEST_ORIGINALS` while
 * the tests run.
 */
export default async function makeOriginalsFolder() {
  process.env.TEST_ORIGINALS = await mkdtemp(join(tmpdir(), 'analytics-originals-'));
  // A root's test run lends PostgreSQL another account, which has to get through.
  await chmod(process.env.TEST_ORIGINALS, 0o711);
  const compiled = join(process.env.TEST_ORIGINALS, 'compiled');
  await mkdir(compiled);
  await compileSources(compiled);
}
