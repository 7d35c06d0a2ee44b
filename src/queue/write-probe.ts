import type { QueueHealth } from './queue-health.js';

const INTERVAL = 1_000;

/**
 * Asks a server whether it stores jobs again. A refused write may never be repeated, and a process that counts as
 * unhealthy may get nothing else to store.
 *
 * @param isDue returns whether to ask now
 * @param write stores something; rejects if it is refused
 * @returns a function that ends the probes
 */
export function probeWrites(
  health: QueueHealth,
  isDue: () => boolean,
  write: () => Promise<unknown>,
): () => void {
  let isAsking = false;
  const timer = setInterval(() => {
    if (isAsking || !isDue()) return;
    isAsking = true;
    const askedAt = performance.now();
    write()
      .then(
        () => {
          health.probed(askedAt);
        },
        () => undefined,
      )
      .finally(() => {
        isAsking = false;
      });
  }, INTERVAL).unref();
  return () => {
    clearInterval(timer);
  };
}
