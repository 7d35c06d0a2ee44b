/** How long a batch waits whose destination hangs and holds all that it may, in milliseconds. */
const BUSY_DELAY = 1_000;

/** When such a batch looks again, in milliseconds since the epoch: not all of them at once. */
export function busyUntil(now: number): number {
  return Math.ceil(now + BUSY_DELAY * (0.5 + Math.random()));
}
