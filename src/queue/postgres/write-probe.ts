import { randomUUID } from 'node:crypto';
import type { PgPool } from 'bullmq';
import type { QueueHealth } from '../queue-health.js';

const INTERVAL = 1_000;

/** A job as small as it can be, which no worker takes. It is never committed. */
const ADD = `INSERT INTO job (queue, id, seq, name, state, added_at_ms)
  VALUES ('nestjs-analytics:writable', $1, 0, '', 'completed', 0)`;

/**
 * Asks a server that refused to store something whether it stores jobs again. What it refused may never be repeated,
 * and a process that counts as ill may get nothing else to store.
 *
 * @returns ends the questions
 */
export function probeWrites(pool: PgPool, health: QueueHealth): () => void {
  let isAsking = false;
  const timer = setInterval(() => {
    if (!health.isRefusing || isAsking) return;
    isAsking = true;
    add(pool)
      .then(
        () => {
          health.stored();
        },
        () => undefined,
      )
      .finally(() => {
        isAsking = false;
      });
  }, INTERVAL).unref();
  return () => {
    clearInterval(timer);
  };
}

/** Adds a job and takes it back. */
async function add(pool: PgPool): Promise<void> {
  const client = await pool.connect();
  let isClean = false;
  try {
    await client.query('BEGIN');
    try {
      await client.query(ADD, [randomUUID()]);
    } finally {
      await client.query('ROLLBACK');
      isClean = true;
    }
  } finally {
    client.release(!isClean);
  }
}
