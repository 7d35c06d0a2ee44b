import { createHash } from 'node:crypto';
import { types } from 'node:util';
import type { RedisCommands } from '../queue/redis-commands.js';

/** A wait that only serves to keep the process alive, in milliseconds. */
const FOR_EVER = 2 ** 31 - 1;

/** A Lua script, which the server runs in one go and knows by its hash once it has seen it. */
export class RedisScript {
  private readonly sha: string;

  constructor(private readonly source: string) {
    this.sha = createHash('sha1').update(source).digest('hex');
  }

  async run(
    client: RedisCommands,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    // The queue's connection does not keep a process alive, what waits for an answer must.
    const keepAlive = setTimeout(() => undefined, FOR_EVER);
    try {
      return await client.evalsha(this.sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!types.isNativeError(error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return await client.eval(this.source, keys.length, ...keys, ...args);
    } finally {
      clearTimeout(keepAlive);
    }
  }
}
