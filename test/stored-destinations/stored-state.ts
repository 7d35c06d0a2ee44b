import type { QueueStorage } from '../../src/queue/queue-backend.js';

/** The keys of all that is stored about destinations. */
const PREFIX = '{nestjs-analytics:destinations}:';

/** Keys: none. Arguments: what the keys to copy begin with, what the others begin with. */
const COPY_ON_REDIS = `
  for _, key in ipairs(redis.call('KEYS', ARGV[2] .. '*')) do redis.call('DEL', key) end
  for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
    redis.call('COPY', key, ARGV[2] .. string.sub(key, #ARGV[1] + 1))
  end`;

const KEEP_ON_POSTGRES = `
  DO $$ BEGIN
    CREATE SCHEMA kept;
    CREATE TABLE kept.destination AS TABLE nestjs_analytics.destination;
    CREATE TABLE kept.tenant AS TABLE nestjs_analytics.destination_tenant;
    CREATE TABLE kept.change AS TABLE nestjs_analytics.destination_change;
    CREATE TABLE kept.revision AS
      SELECT last_value, is_called FROM nestjs_analytics.destination_change_revision_seq;
  END $$`;

const SET_BACK_ON_POSTGRES = `
  DO $$ BEGIN
    TRUNCATE nestjs_analytics.destination, nestjs_analytics.destination_tenant, nestjs_analytics.destination_change;
    INSERT INTO nestjs_analytics.destination TABLE kept.destination;
    INSERT INTO nestjs_analytics.destination_tenant TABLE kept.tenant;
    INSERT INTO nestjs_analytics.destination_change OVERRIDING SYSTEM VALUE TABLE kept.change;
    PERFORM setval('nestjs_analytics.destination_change_revision_seq', last_value, is_called) FROM kept.revision;
    DROP SCHEMA kept CASCADE;
  END $$`;

/**
 * Keeps what is stored about destinations. Returns a function that sets it back, as a failover does to a replica that
 * lacks the latest changes, or a restored backup.
 */
export async function keepState(storage: QueueStorage): Promise<() => Promise<void>> {
  if (storage.kind === 'postgres') {
    const { pool } = storage;
    await pool.query(KEEP_ON_POSTGRES);
    return async () => {
      await pool.query(SET_BACK_ON_POSTGRES);
    };
  }
  const { client } = storage;
  await client.eval(COPY_ON_REDIS, 0, PREFIX, `kept:${PREFIX}`);
  return async () => {
    await client.eval(COPY_ON_REDIS, 0, `kept:${PREFIX}`, PREFIX);
  };
}

/** Adds changes of a destination as other versions of this package write them. @param change a JSON text */
export async function addChanges(storage: QueueStorage, change: string, count: number): Promise<void> {
  if (storage.kind === 'postgres') {
    const text =
      'INSERT INTO nestjs_analytics.destination_change (change) SELECT $1 FROM generate_series(1, $2)';
    await storage.pool.query(text, [change, count]);
    return;
  }
  await storage.client.eval(
    `for _ = 1, ARGV[2] do
       local revision = redis.call('INCR', KEYS[1])
       redis.call('ZADD', KEYS[2], revision, revision .. ' ' .. ARGV[1])
     end`,
    2,
    `${PREFIX}revision`,
    `${PREFIX}changes`,
    change,
    count,
  );
}
