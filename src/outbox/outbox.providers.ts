import type { Provider } from '@nestjs/common';
import { AnalyticsClient } from '../client/analytics-client.js';
import { MESSAGE_STORE, type MessageStore } from '../client/message-store.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { ApplicationMarks } from '../queue/application-marks.js';
import { BacklogCounter } from '../queue/backlog-counter.js';
import { BatchQueue } from '../queue/batch-queue.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import { ApplicationEnd } from '../shared/application-end.js';
import type { Outbox } from './outbox.js';
import { OutboxService } from './outbox.service.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

/** Injection token of the outbox. Its value is `undefined` if the application has none. */
export const OUTBOX = Symbol.for('nestjs-analytics:outbox');

// An application without an outbox loads none of its code.
async function createWriter(options: ResolvedOptions): Promise<MessageStore | undefined> {
  const { outbox, destinations } = options;
  if (outbox === undefined) return undefined;
  const [{ OutboxWriter }, { outboxTable }] = await Promise.all([
    import('./outbox-writer.js'),
    import('./outbox-table.js'),
  ]);
  const table = outboxTable(outbox.schema, outbox.table);
  return new OutboxWriter(table, new ApplicationMarks(options), destinations !== undefined);
}

async function createOutbox(
  options: ResolvedOptions,
  client: AnalyticsClient,
  queue: BatchQueue,
  { health }: QueueBackend,
  backlogs: BacklogCounter,
): Promise<Outbox | undefined> {
  const { outbox, connection } = options;
  // A process that delivers nothing has no queue to move rows to.
  if (outbox === undefined || connection.kind === 'none') return undefined;
  const { openOutbox } = await import('./open-outbox.js');
  return openOutbox(options, outbox, { client, queue, health, backlogs, logger: new AnalyticsLogger() });
}

/** The table in the application's database, and the relay that moves its rows to the queue. */
export const OUTBOX_PROVIDERS: Provider[] = [
  { provide: MESSAGE_STORE, inject: [RESOLVED_OPTIONS], useFactory: createWriter },
  {
    provide: OUTBOX,
    inject: [RESOLVED_OPTIONS, AnalyticsClient, BatchQueue, QUEUE_BACKEND, BacklogCounter],
    useFactory: createOutbox,
  },
  {
    provide: OutboxService,
    inject: [OUTBOX, RESOLVED_OPTIONS, ApplicationEnd],
    useFactory: (outbox: Outbox | undefined, options: ResolvedOptions, end: ApplicationEnd) =>
      new OutboxService(end.guarding(outbox), options.outbox !== undefined),
  },
];
