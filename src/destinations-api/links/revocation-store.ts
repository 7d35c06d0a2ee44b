import { OwnTables, SCHEMA } from '../../queue/postgres/own-tables.js';
import type { QueueStorage } from '../../queue/queue-backend.js';
import { RedisScript } from '../../queue/redis/redis-script.js';

/** Stores in the queue's database, for all processes, when the links of a tenant were revoked. */
export interface RevocationStore {
  /**
   * @param at in milliseconds since the epoch; a time before the stored one, by a clock that is behind, has no effect
   * @param before revocations before this time are forgotten: no link is that old
   */
  revoke(tenant: string, at: number, before: number): Promise<void>;
  /** Resolves to when the links of a tenant were last revoked; 0 for never. */
  revokedAt(tenant: string): Promise<number>;
}

const KEYS = ['{nestjs-analytics:console-links}:revoked'];

/** Arguments: tenant, time, and the time before which entries are forgotten. */
const REVOKE = new RedisScript(`
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
  local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
  if known and tonumber(known) >= tonumber(ARGV[2]) then return 0 end
  return redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])`);

/** Argument: tenant. */
const REVOKED_AT = new RedisScript(`return redis.call('ZSCORE', KEYS[1], ARGV[1])`);

const TABLE = `${SCHEMA}.revoked_links`;
const TABLES = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    tenant text COLLATE "C" PRIMARY KEY,
    revoked_at bigint NOT NULL
  );`;

type Storage<Kind> = Extract<QueueStorage, { kind: Kind }>;

class RedisRevocationStore implements RevocationStore {
  constructor(private readonly client: Storage<'redis'>['client']) {}

  async revoke(tenant: string, at: number, before: number): Promise<void> {
    await REVOKE.run(this.client, KEYS, [tenant, at, before]);
  }

  async revokedAt(tenant: string): Promise<number> {
    return Number(await REVOKED_AT.run(this.client, KEYS, [tenant]));
  }
}

class PostgresRevocationStore implements RevocationStore {
  private readonly tables: OwnTables;

  constructor(pool: Storage<'postgres'>['pool']) {
    this.tables = new OwnTables(pool, TABLES);
  }

  async revoke(tenant: string, at: number, before: number): Promise<void> {
    await this.tables.query(`DELETE FROM ${TABLE} WHERE revoked_at < $1`, [before]);
    await this.tables.query(
      `INSERT INTO ${TABLE} AS r (tenant, revoked_at) VALUES ($1, $2)
       ON CONFLICT (tenant) DO UPDATE SET revoked_at = greatest(r.revoked_at, excluded.revoked_at)`,
      [tenant, at],
    );
  }

  async revokedAt(tenant: string): Promise<number> {
    const [row] = await this.tables.look<{ revoked_at: string }>(
      TABLE,
      `SELECT revoked_at::text FROM ${TABLE} WHERE tenant = $1`,
      [tenant],
    );
    return Number(row?.revoked_at ?? 0);
  }
}

/** Creates the store in the queue's database. */
export function createRevocationStore(storage: QueueStorage): RevocationStore {
  return storage.kind === 'redis'
    ? new RedisRevocationStore(storage.client)
    : new PostgresRevocationStore(storage.pool);
}
