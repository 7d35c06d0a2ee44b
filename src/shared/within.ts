import { SYSTEM_CLOCK, type Timer } from './clock.js';

/** Waits for work, at most this many milliseconds. Resolves to `undefined` if the time is over first. */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: Timer | undefined;
  const timedOut = new Promise<undefined>((resolve) => {
    timer = SYSTEM_CLOCK.after(milliseconds, () => {
      resolve(undefined);
    });
  });
  try {
    return await Promise.race([work, timedOut]);
  } finally {
    timer?.cancel();
  }
}
