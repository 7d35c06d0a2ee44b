import { randomUUID } from 'node:crypto';
import { DEFAULT_SCHEMA, type PgPool } from 'bullmq';
import { missingCode } from '../removed-tables.js';
import type { ReconnectingPool } from './reconnecting-pool.js';

/** A job as small as it can be, which no worker takes. It is never committed. */
const ADD = `INSERT INTO job (queue, id, seq, name, state, added_at_ms)
  VALUES ('nestjs-analytics:writable', $1, 0, '', 'completed', 0)`;

/** What a worker writes when it looks for jobs of others: a user may have a right on one of the tables alone. */
const NOTE = `INSERT INTO meta (queue, field, value) VALUES ('nestjs-analytics:writable', $1, '')
  ON CONFLICT (queue, field) DO UPDATE SET value = excluded.value WHERE meta.value = ''`;

/** Whether nothing of BullMQ is there. */
const IS_GONE = `SELECT NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('${DEFAULT_SCHEMA}'))
  AND NOT EXISTS (SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('${DEFAULT_SCHEMA}')) AS "isGone"`;

/**
 * Shows whether the server stores jobs. If somebody has removed its tables, they are made again: all of them, since what is
 * left of them would be in the way.
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
