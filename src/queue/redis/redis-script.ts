import { createHash } from 'node:crypto';
import { types } from 'node:util';
import { LONGEST_TIMER } from '../../shared/clock.js';
import type { RedisCommands } from '../queue-backend.js';

/** A Lua script. The server runs it atomically, and knows it by its hash after the first time. */
export class RedisScript {
  private readonly sha: string;

  /** @param isAwaited `false` for a script that nobody waits for: it does not keep the process alive */
  constructor(
    private readonly source: string,
    private readonly isAwaited = true,
  ) {
    this.sha = createHash('sha1').update(source).digest('hex');
  }

  async run(
    client: RedisCommands,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    // The queue's idle connection does not keep the process alive, but a script that awaits its answer must.
    const keepAlive = this.isAwaited ? setTimeout(() => undefined, LONGEST_TIMER) : undefined;
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
