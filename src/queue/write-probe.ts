import type { QueueHealth } from './queue-health.js';

const INTERVAL = 1_000;

/**
 * Asks a server whether it stores jobs again. What it refused may never be repeated, and a process that counts as ill
 * may get nothing else to store.
 *
 * @param isDue whether to ask now
 * @param write stores something; rejects if it is refused
 * @returns ends the questions
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
    write()
      .then(
        () => {
          health.probed();
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
