import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ask } from './ask.mjs';

const SERVER = fileURLToPath(new URL('receiver-server.mjs', import.meta.url));

/**
 * A receiver in a process of its own, which answers at once and counts.
 *
 * @param pem file with a private key and its certificate, for TLS
 */
export async function startReceiver({ ports = 1, delay = 0, pem } = {}) {
  const child = fork(SERVER, [String(ports), String(delay), ...(pem === undefined ? [] : [pem])]);
  const [addresses] = await once(child, 'message');
  return {
    urls: addresses.map((port) => `${pem === undefined ? 'http' : 'https'}://127.0.0.1:${port}/events`),
    reset: () => ask(child, { reset: true }),
    /** Resolves when that many requests have come since the last reset, to what came since then. */
    received: (count) => ask(child, { received: count }),
    count: () => ask(child, {}),
    stop: () => child.kill(),
  };
}
