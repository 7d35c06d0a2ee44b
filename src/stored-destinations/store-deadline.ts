import type { Clock, Timer } from '../shared/clock.js';

/** How long the application's own store may take to answer, in milliseconds. */
export const STORE_DEADLINE = 5_000;

/** Makes a call, and rejects with `lateError` if it does not end in time. The timer keeps no process alive. */
export async function inTime<T>(
  clock: Clock,
  timeout: number,
  call: () => Promise<T>,
  lateError: () => Error,
): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = clock.afterUnlessIdle(timeout, () => {
      reject(lateError());
    });
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    timer?.cancel();
  }
}
