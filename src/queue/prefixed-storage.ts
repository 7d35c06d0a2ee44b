import { SCHEMA } from './postgres/own-tables.js';
import type { QueuePool, QueueStorage, RedisArgument, RedisCommands } from './queue-backend.js';

const OWN_SCHEMA = new RegExp(`\\b${SCHEMA}\\b`, 'g');

/** Returns a storage for data beside the queue, apart from that of other applications in the same database. */
export function prefixedStorage(storage: QueueStorage, prefix: string): QueueStorage {
  return storage.kind === 'redis'
    ? { kind: 'redis', client: new PrefixedCommands(storage.client, prefix) }
    : { kind: 'postgres', pool: prefixedPool(storage.pool, prefix) };
}

/** Puts the prefix into each key, but not into the braces, which choose the slot of a Redis Cluster. */
class PrefixedCommands implements RedisCommands {
  constructor(
    private readonly client: RedisCommands,
    private readonly prefix: string,
  ) {}

  get isCluster(): boolean {
    return this.client.isCluster ?? false;
  }

  get keyPrefix(): string {
    return `${this.prefix}:`;
  }

  eval(script: string, keys: number, ...keysAndArguments: RedisArgument[]): Promise<unknown> {
    return this.client.eval(script, keys, ...this.prefixed(keys, keysAndArguments));
  }

  evalsha(sha: string, keys: number, ...keysAndArguments: RedisArgument[]): Promise<unknown> {
    return this.client.evalsha(sha, keys, ...this.prefixed(keys, keysAndArguments));
  }

  private prefixed(keys: number, keysAndArguments: readonly RedisArgument[]): RedisArgument[] {
    return keysAndArguments.map((value, index) => (index < keys ? this.keyOf(String(value)) : value));
  }

  private keyOf(key: string): string {
    const tagEnd = key.startsWith('{') ? key.indexOf('}') + 1 : 0;
    return tagEnd === 0
      ? `${this.keyPrefix}${key}`
      : `${key.slice(0, tagEnd)}${this.prefix}${key.slice(tagEnd)}`;
  }
}

/** Replaces the schema in statements, which is that of applications without a prefix, with the prefix's own schema. */
function prefixedPool(pool: QueuePool, prefix: string): QueuePool {
  const schema = `${SCHEMA}_${prefix.replaceAll('-', '_')}`;
  const query: QueuePool['query'] = (text, params) => pool.query(text.replaceAll(OWN_SCHEMA, schema), params);
  return { max: pool.max, query };
}
