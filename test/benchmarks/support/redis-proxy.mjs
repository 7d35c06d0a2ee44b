import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ask } from './ask.mjs';

const SERVER = fileURLToPath(new URL('redis-proxy-server.mjs', import.meta.url));

/** A way to a Redis, in a process of its own, that counts the commands which are sent over it. */
export async function startRedisProxy(redisUrl) {
  const child = fork(SERVER, [redisUrl]);
  const [port] = await once(child, 'message');
  const url = new URL(redisUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    /** Commands since it was asked last: how many of each name. */
    taken: () => ask(child, 'taken'),
    stop: () => child.kill(),
  };
}
