import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ask } from './ask.mjs';

const SERVER = fileURLToPath(new URL('receiver-server.mjs', import.meta.url));

/**
 * Starts a receiver in a process of its own, which counts requests and answers each after `delay` milliseconds.
 *
 * @param pem file with a private key and its certificate, for TLS
 */
export async function startReceiver({ ports = 1, delay = 0, pem } = {}) {
  const child = fork(SERVER, [String(ports), String(delay), ...(pem === undefined ? [] : [pem])]);
  const [addresses] = await once(child, 'message');
  return {
    urls: addresses.map((port) => `${pem === undefined ? 'http' : 'https'}://127.0.0.1:${port}/events`),
    reset: () => ask(child, { reset: true }),
    /** Resolves to the counts since the last reset, as soon as that many requests have arrived. */
    received: (count) => ask(child, { received: count }),
    count: () => ask(child, {}),
    stop: () => child.kill(),
  };
}
