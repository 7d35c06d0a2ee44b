import { isPgPool } from 'bullmq';
import type { AnalyticsClient } from '../client/analytics-client.js';
import type { JobSink } from '../client/sender.js';
import { OutboxTableError, UnsupportedOutboxDatabaseError } from '../errors/outbox.errors.js';
import type { OutboxDatabase } from '../options/outbox-options.interface.js';
import type { ResolvedOptions, ResolvedOutbox } from '../options/resolved-options.js';
import type { BacklogCounter } from '../queue/backlog-counter.js';
import type { QueueLog } from '../queue/limited-log.js';
import { START_PATIENCE } from '../queue/queue-backend.js';
import type { QueueHealth } from '../queue/queue-health.js';
import { within } from '../shared/within.js';
import { OutboxLog } from './outbox-log.js';
import { OutboxRelay } from './outbox-relay.js';
import { OutboxStore } from './outbox-store.js';
import { outboxTable } from './outbox-table.js';
import { Outbox } from './outbox.js';
import { OwnRows } from './own-rows.js';
import { PgDatabase } from './pg-database.js';
import { RowReader } from './row-reader.js';

export interface OutboxParts {
  client: AnalyticsClient;
  queue: JobSink;
  health: QueueHealth;
  backlogs: BacklogCounter;
  logger: QueueLog;
}

/**
 * Opens the outbox, and checks its table. Succeeds even if the database cannot be reached yet.
 *
 * @throws OutboxTableError, UnsupportedOutboxDatabaseError, MissingPackageError
 */
export async function openOutbox(
  options: ResolvedOptions,
  outbox: ResolvedOutbox,
  { client, queue, health, backlogs, logger }: OutboxParts,
): Promise<Outbox> {
  const { database, end } = await databaseOf(outbox.connection);
  const { unknownJobTimeout: unknownTimeout, worker } = options;
  const { schema, table, migrate } = outbox;
  const store = new OutboxStore(database, outboxTable(schema, table), { migrate, isMoved: worker });
  const log = new OutboxLog(logger);
  const checked = store.check().catch((error: unknown) => {
    if (isFinal(error)) throw error;
    log.down(error);
  });
  // After the start, it is too late to throw. The relay checks the table again, and logs what is wrong.
  checked.catch(() => undefined);
  try {
    await within(START_PATIENCE, checked);
  } catch (error) {
    await end();
    throw error;
  }
  const reader = new RowReader({ client, backlogs, own: new OwnRows(options), unknownTimeout });
  const relay = worker ? new OutboxRelay({ store, reader, queue, health, client, backlogs, log }) : undefined;
  return new Outbox(store, relay, end);
}

async function databaseOf(
  connection: ResolvedOutbox['connection'],
): Promise<{ database: OutboxDatabase; end: (timeout?: number) => Promise<void> }> {
  if (typeof connection !== 'string' && !isPgPool(connection)) {
    return { database: connection, end: () => Promise.resolve() };
  }
  const database = await PgDatabase.open(connection);
  return { database, end: (timeout) => database.close(timeout) };
}

/** Whether another attempt cannot help. */
function isFinal(error: unknown): boolean {
  return error instanceof OutboxTableError || error instanceof UnsupportedOutboxDatabaseError;
}
