import type { Redis } from 'ioredis';

/** Milliseconds for which a socket may still receive an answer after the process or its machine stood still. */
const GRACE = 1_000;

/**
 * Gives the socket of a client a moment before it counts as silent. After a process stood still, its timers run before
 * its sockets are read and before pending data is written. The server may also have to send its answer again.
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

/** Returns whether `ioredis` ends a connection because a command has had no answer for too long. */
export function isSilence(error: Error): boolean {
  return error.message.startsWith('Socket timeout');
}
