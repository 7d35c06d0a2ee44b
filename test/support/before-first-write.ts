import type { QueueStorage } from '../../src/queue/queue-backend.js';

/** Returns the same storage, but does some work before a job's data is first written through it. */
export function beforeFirstWrite(storage: QueueStorage, work: () => Promise<unknown>): QueueStorage {
  let done: Promise<unknown> | undefined;
  const before = (): Promise<unknown> => (done ??= work());
  if (storage.kind === 'postgres') {
    const { pool } = storage;
    return {
      kind: 'postgres',
      pool: {
        query: async (text, params) => {
          if (/^\s*UPDATE\b/.test(text)) await before();
          return pool.query(text, params);
        },
      },
    };
  }
  const { client } = storage;
  return {
    kind: 'redis',
    client: {
      eval: (...given) => client.eval(...given),
      evalsha: async (sha, numberOfKeys, ...keysAndArguments) => {
        // The data comes after the hash of the data that was read.
        const [, data] = keysAndArguments.slice(numberOfKeys);
        if (String(data).startsWith('{')) await before();
        return client.evalsha(sha, numberOfKeys, ...keysAndArguments);
      },
    },
  };
}
