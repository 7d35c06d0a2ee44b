import type { PgPoolClient } from 'bullmq';
import { UnsupportedQueueServerError } from '../../errors/setup.errors.js';

/** Encodings of a database that store any text. `SQL_ASCII` converts nothing, so it keeps whatever it is sent. */
const STORES_ANY_TEXT: readonly (string | undefined)[] = ['UTF8', 'SQL_ASCII'];

/**
 * Checks that a database stores any character. With another encoding, it refuses BullMQ's own statements, and would
 * refuse each message with a character that the encoding lacks.
 *
 * @throws UnsupportedQueueServerError when it does not.
 */
export async function checkEncoding(client: PgPoolClient): Promise<void> {
  const { rows } = await client.query<{ encoding: string }>(
    "SELECT current_setting('server_encoding') AS encoding",
  );
  const encoding = rows[0]?.encoding;
  if (STORES_ANY_TEXT.includes(encoding)) return;
  throw new UnsupportedQueueServerError(
    `its PostgreSQL database has the encoding ${encoding}, which cannot store most characters`,
    "Create a database for the queue with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`.",
  );
}
