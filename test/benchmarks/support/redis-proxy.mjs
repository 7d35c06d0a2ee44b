import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ask } from './ask.mjs';

const SERVER = fileURLToPath(new URL('redis-proxy-server.mjs', import.meta.url));

/** Starts a proxy to a Redis, in a process of its own, that counts the commands sent through it. */
export async function startRedisProxy(redisUrl) {
  const child = fork(SERVER, [redisUrl]);
  const [port] = await once(child, 'message');
  const url = new URL(redisUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    /** Resolves to the number of commands since the previous call, by name. */
    taken: () => ask(child, 'taken'),
    stop: () => child.kill(),
  };
}
