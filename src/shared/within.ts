import { timerDelay } from './clock.js';

/** Waits for work, at most this many milliseconds. Resolves to `undefined` if the time is over first. */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, timerDelay(milliseconds), undefined);
  });
  try {
    return await Promise.race([work, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
