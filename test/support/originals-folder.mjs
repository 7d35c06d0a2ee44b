import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes the folder of the files that spec files copy. Its path is in `TEST_ORIGINALS` while the tests run. */
export default async function makeOriginalsFolder() {
  process.env.TEST_ORIGINALS = await mkdtemp(join(tmpdir(), 'analytics-originals-'));
  // A root's test run lends PostgreSQL another account, which has to get through.
  await chmod(process.env.TEST_ORIGINALS, 0o711);
}
