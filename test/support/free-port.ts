import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the range from which outgoing connections take their ports: a connection might take the port meanwhile. */
const RANGE = [20_000, 32_000] as const;

/** Ports that servers may not listen on yet: a cluster needs a dozen at once. */
const handedOut = new Set<number>();

/** Resolves to a port of the loopback interface that nothing listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...RANGE);
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await canListen(port)) return port;
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
