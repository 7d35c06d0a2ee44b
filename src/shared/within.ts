import { SYSTEM_CLOCK, type Timer } from './clock.js';

/** Waits for work, at most this many milliseconds. Resolves to `undefined` if the time is over first. */
export function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  return unlessOver(work, (end) => SYSTEM_CLOCK.after(milliseconds, end));
}

/** The same, but the wait does not keep the process alive. */
export function withinUnlessIdle<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  return unlessOver(work, (end) => SYSTEM_CLOCK.afterUnlessIdle(milliseconds, end));
}

async function unlessOver<T>(work: Promise<T>, start: (end: () => void) => Timer): Promise<T | undefined> {
  let timer: Timer | undefined;
  const timedOut = new Promise<undefined>((resolve) => {
    timer = start(() => {
      resolve(undefined);
    });
  });
  try {
    return await Promise.race([work, timedOut]);
  } finally {
    timer?.cancel();
  }
}
