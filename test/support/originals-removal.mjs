import { rm } from 'node:fs/promises';

/** Removes the files that specs copied. */
export default function removeOriginals() {
  return rm(process.env.TEST_ORIGINALS, { recursive: true, force: true });
}
