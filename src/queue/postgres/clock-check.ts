import type { PgPoolClient } from 'bullmq';
import type { QueueHealth } from '../queue-health.js';

/** Tolerated difference between the clocks, in milliseconds. Locks last at least three times as long. */
const TOLERANCE = 2_000;

const NOW = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS now`;

/**
 * Reports a clock that differs from the server's. A worker writes the end of a job's lock by its own clock, and another
 * worker compares it with its own: it could take jobs that are still being delivered.
 */
export async function checkClock(client: PgPoolClient, health: Pick<QueueHealth, 'report'>): Promise<void> {
  const askedAt = Date.now();
  const { rows } = await client.query<{ now: string }>(NOW);
  const difference = (askedAt + Date.now()) / 2 - Number(rows[0]?.now);
  if (!(Math.abs(difference) > TOLERANCE)) return;
  const seconds = Math.round(Math.abs(difference) / 1_000);
  const side = difference > 0 ? 'ahead of' : 'behind';
  health.report(
    new Error(
      `the clock of this process is ${seconds} s ${side} the server's clock. If the clocks of workers differ by several ` +
        'seconds, messages are delivered more than once. Synchronize them, for example with NTP.',
    ),
  );
}
