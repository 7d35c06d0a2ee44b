import { Redis } from 'ioredis';
import pg from 'pg';

const TABLES = [
  'destination',
  'destination_tenant',
  'destination_change',
  'delivery_entry',
  'delivery_hour',
].map((name) => `nestjs_analytics.${name}`);

/** Removes destinations and their history, which stay when the queue is emptied. @param url of Redis or PostgreSQL */
export async function removeDestinations(url) {
  if (url.startsWith('redis')) await removeKeys(url);
  else await emptyTables(url);
}

async function removeKeys(url) {
  const redis = new Redis(url);
  for (const match of ['{nestjs-analytics:destinations}:*', '{nestjs-analytics:history}:*']) {
    for await (const keys of redis.scanStream({ match, count: 1_000 })) {
      if (keys.length > 0) await redis.unlink(keys);
    }
  }
  await redis.quit();
}

async function emptyTables(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const table of TABLES) {
    const { rows } = await client.query(`SELECT to_regclass('${table}') AS name`);
    if (rows[0].name !== null) await client.query(`TRUNCATE ${table}`);
  }
  await client.end();
}
