import { timerDelay } from './clock.js';

/**
 * Waits for work, at most this many milliseconds. Resolves to `undefined` if the time is over first.
 *
 * After a stall of the event loop, timers fire before sockets are read. So the work gets one more turn of the loop, in
 * which an answer that has already arrived counts.
 */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      setImmediate(resolve, undefined);
    }, timerDelay(milliseconds));
  });
  try {
    return await Promise.race([work, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
