import { randomUUID } from 'node:crypto';
import type { RedisCommands } from '../queue-backend.js';
import { RedisScript } from './redis-script.js';

/** How long an answer is remembered, in milliseconds: as long as the ids of added jobs. */
const MEMORY = 600_000;

/**
 * A Lua script that does its work once. `ioredis` sends a command again if its connection breaks before the answer, and
 * the server may have run it by then. The script then returns the answer of the first time.
 *
 * The last key that `run` gets is where the answer is remembered. It has to be another one for each call, unless the
 * caller makes one call after the other.
 */
export class OnceScript extends RedisScript {
  /** @param guard Lua source that runs each time before all else, and may end the script */
  constructor(source: string, isAwaited = true, guard = '') {
    super(
      `${guard}
  local remembered, call = KEYS[#KEYS], ARGV[#ARGV]
  KEYS[#KEYS], ARGV[#ARGV] = nil, nil
  local known = redis.call('GET', remembered)
  if known and string.sub(known, 1, #call) == call then return cmsgpack.unpack(string.sub(known, #call + 1)) end
  local function work()
    ${source}
  end
  local answer = work()
  redis.call('SET', remembered, call .. cmsgpack.pack(answer), 'PX', ${MEMORY})
  return answer`,
      isAwaited,
    );
  }

  override run(
    client: RedisCommands,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    return super.run(client, keys, [...args, randomUUID()]);
  }
}
