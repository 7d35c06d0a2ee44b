import type { Provider } from '@nestjs/common';
import { DestinationRegistry } from '../../destinations/destination-registry.js';
import { RESOLVED_OPTIONS } from '../../options/options.tokens.js';
import type { ResolvedOptions } from '../../options/resolved-options.js';
import { createBacklogStore } from '../../queue/queue.providers.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../queue/queue-backend.js';
import { SYSTEM_CLOCK } from '../../shared/clock.js';
import { DeliveryHistory } from './delivery-history.js';
import { HistoryLog } from './history-log.js';
import { HistoryRecorder } from './history-recorder.js';
import type { HistoryStore } from './history-store.js';
import { createHistoryStore } from './stores/create-history-store.js';
import { WaitingSampler } from './waiting-sampler.js';
import { AnalyticsLogger } from '../../shared/analytics-logger.js';

/** Token of the history's store; the store is `undefined` in an application that keeps no history. */
export const HISTORY_STORE = Symbol('nestjs-analytics:history-store');

/** Only a process with a worker has anything to record. */
function createRecorder(
  { worker }: ResolvedOptions,
  { health }: QueueBackend,
  store: HistoryStore | undefined,
  destinations: DestinationRegistry,
): HistoryRecorder | undefined {
  if (!worker || store === undefined) return undefined;
  const log = new HistoryLog(new AnalyticsLogger(), () => SYSTEM_CLOCK.now());
  return new HistoryRecorder({
    store,
    log,
    isQueueUp: () => health.isUp,
    ownerOf: (id) => destinations.ownerOf(id),
    deletedAmong: (ids) => destinations.deletedAmong(ids),
  });
}

/** Only a process with a worker counts the waiting messages. */
function createSampler(
  { worker }: ResolvedOptions,
  { storage }: QueueBackend,
  store: HistoryStore | undefined,
): WaitingSampler | undefined {
  if (!worker || store === undefined) return undefined;
  return new WaitingSampler({ store, backlogs: createBacklogStore(storage) });
}

/** What happened at each destination, as all processes recorded it. */
export const HISTORY_PROVIDERS: Provider[] = [
  {
    provide: HISTORY_STORE,
    inject: [RESOLVED_OPTIONS, QUEUE_BACKEND],
    useFactory: ({ history }: ResolvedOptions, { storage }: QueueBackend) =>
      history ? createHistoryStore(storage) : undefined,
  },
  {
    provide: HistoryRecorder,
    inject: [RESOLVED_OPTIONS, QUEUE_BACKEND, HISTORY_STORE, DestinationRegistry],
    useFactory: createRecorder,
  },
  {
    provide: WaitingSampler,
    inject: [RESOLVED_OPTIONS, QUEUE_BACKEND, HISTORY_STORE],
    useFactory: createSampler,
  },
  {
    provide: DeliveryHistory,
    inject: [HISTORY_STORE, DestinationRegistry],
    useFactory: (store: HistoryStore | undefined, destinations: DestinationRegistry) =>
      store && new DeliveryHistory(store, destinations),
  },
];
