import { rm } from 'node:fs/promises';

/** Removes what spec files copied from. */
export default function removeOriginals() {
  return rm(process.env.TEST_ORIGINALS, { recursive: true, force: true });
}
