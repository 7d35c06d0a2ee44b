import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Resolves to the bytes in use after all garbage is collected. What finalizers free is gone after a turn or two. */
export async function heldBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (!isCollector(collect)) throw new Error('This Node offers no way to collect garbage');
  for (let turn = 0; turn < 3; turn++) {
    collect();
    await new Promise(setImmediate);
  }
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function isCollector(value: unknown): value is () => void {
  return typeof value === 'function';
}
