import type { Redis } from 'ioredis';

/**
 * Has a client read its socket once more before it takes it for silent. The timers of a process that stood still are run
 * before its sockets are read, and what the server answered meanwhile is in them.
 */
export function readBeforeSilence(client: Redis): void {
  client.on('connect', () => {
    const { stream } = client;
    const destroy = stream.destroy.bind(stream);
    stream.destroy = (error) => {
      if (error === undefined || !isSilence(error)) return destroy(error);
      const { bytesRead } = stream;
      // Sockets are read between timers and this.
      setImmediate(() => {
        if (stream.bytesRead === bytesRead) destroy(error);
      });
      return stream;
    };
  });
}

/** Whether `ioredis` ends a connection because a command has had no answer for long. */
export function isSilence(error: Error): boolean {
  return error.message.startsWith('Socket timeout');
}
