import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('timed-receiver-server.mjs', import.meta.url));

/**
 * Starts a receiver in a process of its own, whose paths answer as they are told to.
 *
 * @param origins one for each port: `{ delay, status, told }` by path; no path is in two origins
 * @param onArrival called with the messageId of each message to a path that is `told`, and with its time of arrival in
 *   milliseconds of the clock that all processes of a machine share
 */
export async function startTimedReceiver(origins, onArrival) {
  const child = fork(SERVER, [JSON.stringify(origins)]);
  const [{ ports }] = await once(child, 'message');
  let answered = () => undefined;
  child.on('message', ({ id, at, received }) => {
    if (received === undefined) onArrival(id, Number(BigInt(at)) / 1e6);
    else answered(received);
  });
  const urls = origins.flatMap((paths, index) =>
    Object.keys(paths).map((path) => [path, `http://127.0.0.1:${ports[index]}${path}`]),
  );
  return {
    /** URLs by path. */
    urls: Object.fromEntries(urls),
    /** Resolves to the number of requests so far, by path. */
    received: () =>
      new Promise((resolve) => {
        answered = resolve;
        child.send('received');
      }),
    stop: () => child.kill(),
  };
}

/** Returns the milliseconds of the clock in which arrivals are reported. */
export function sharedClock() {
  return Number(process.hrtime.bigint()) / 1e6;
}
