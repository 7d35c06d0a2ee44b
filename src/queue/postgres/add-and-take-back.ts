import { randomUUID } from 'node:crypto';
import { DEFAULT_SCHEMA, type PgPool } from 'bullmq';
import { missingCode } from '../removed-tables.js';
import type { ReconnectingPool } from './reconnecting-pool.js';

/** The smallest possible job, which no worker takes. It is never committed. */
const ADD = `INSERT INTO job (queue, id, seq, name, state, added_at_ms)
  VALUES ('nestjs-analytics:writable', $1, 0, '', 'completed', 0)`;

/** A write like the one in a worker's check for stalled jobs. A user may have rights on only one of the two tables. */
const NOTE = `INSERT INTO meta (queue, field, value) VALUES ('nestjs-analytics:writable', $1, '')
  ON CONFLICT (queue, field) DO UPDATE SET value = excluded.value WHERE meta.value = ''`;

/** Selects whether all tables and functions of BullMQ are gone. */
const IS_GONE = `SELECT NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('${DEFAULT_SCHEMA}'))
  AND NOT EXISTS (SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('${DEFAULT_SCHEMA}')) AS "isGone"`;

/**
 * Rejects if the server does not store jobs. Creates BullMQ's tables again if all of them were removed, but not if some
 * are left, which would be in the way.
 */
export async function probeTables(pool: ReconnectingPool): Promise<void> {
  try {
    await addAndTakeBack(pool);
  } catch (error) {
    if (missingCode(error) === undefined || !(await isGone(pool))) throw error;
    await pool.open();
    await addAndTakeBack(pool);
  }
}

async function isGone(pool: PgPool): Promise<boolean> {
  const { rows } = await pool.query<{ isGone: boolean }>(IS_GONE);
  return rows[0]?.isGone === true;
}

async function addAndTakeBack(pool: PgPool): Promise<void> {
  const client = await pool.connect();
  let isClean = false;
  try {
    await client.query('BEGIN');
    try {
      await client.query(ADD, [randomUUID()]);
      await client.query(NOTE, [randomUUID()]);
    } finally {
      await client.query('ROLLBACK');
      isClean = true;
    }
  } finally {
    client.release(!isClean);
  }
}
