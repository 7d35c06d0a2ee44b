import type { Redis } from 'ioredis';

/** How long a socket may still be answered after a process or its machine stood still, in milliseconds. */
const GRACE = 1_000;

/**
 * Gives the socket of a client a moment before it counts as silent. The timers of a process that stood still are run before
 * its sockets are read, and before what it had still to write. What the server has answered may have to be sent again.
 */
export function readBeforeSilence(client: Redis): void {
  client.on('connect', () => {
    const { stream } = client;
    const destroy = stream.destroy.bind(stream);
    stream.destroy = (error) => {
      if (error === undefined || !isSilence(error)) return destroy(error);
      const { bytesRead } = stream;
      setTimeout(() => {
        if (stream.bytesRead === bytesRead) destroy(error);
      }, GRACE).unref();
      return stream;
    };
  });
}

/** Whether `ioredis` ends a connection because a command has had no answer for long. */
export function isSilence(error: Error): boolean {
  return error.message.startsWith('Socket timeout');
}
