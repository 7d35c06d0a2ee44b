import type { AnalyticsClient } from '../client/analytics-client.js';
import type { DownEndpoint, EndpointLog } from '../deliveries/endpoint-log.js';
import type { DeliveryWorker } from '../delivery/delivery-worker.js';
import type { OutboxStatus } from '../outbox/outbox-store.js';
import type { ApplicationEnd } from '../shared/application-end.js';
import type { QueueHealth } from '../queue/queue-health.js';

/** The state of analytics in this process, from memory: reading it costs nothing and never waits. */
export interface AnalyticsStatus {
  /**
   * `down`: the queue's server cannot be reached, does not answer or was not ready since the start, the embedded
   * database has crashed, or the application has closed.
   * `refusing`: the queue answers but stores nothing, for instance because its memory or disk is full. Calls are kept
   * in memory meanwhile.
   */
  queue: 'up' | 'down' | 'refusing';
  /**
   * Names, with their schema, of this module's tables that somebody has removed from the queue's PostgreSQL, as far as
   * this process has needed them. Absent if no table is missing.
   */
  missingTables?: string[];
  /** Messages that were taken and are not in the queue yet. */
  buffered: { messages: number; bytes: number };
  /** Number of messages refused since the start of this process, also by the tracking API and by audiences. */
  refused: number;
  /** `none` in a process with `worker: false`, and in one that delivers nothing. */
  worker: 'running' | 'stopped' | 'none';
  /** URLs that are down, as seen by this process. */
  endpointsDown: DownEndpoint[];
  /**
   * The rows of the outbox over all processes, as they were counted last: at most ten seconds ago, or up to a minute
   * if counting takes long. Absent without an outbox, and while its database does not answer.
   */
  outbox?: OutboxStatus;
}

export interface StatusParts {
  client: Pick<AnalyticsClient, 'pending' | 'pendingBytes' | 'refused'>;
  health: Pick<QueueHealth, 'isUp' | 'isRefusing' | 'tables'>;
  /** `undefined` in a process that only produces. */
  worker: Pick<DeliveryWorker, 'isRunning'> | undefined;
  endpoints: Pick<EndpointLog, 'down'>;
  /** `undefined` in an application without an outbox. */
  outbox: { readonly latest: OutboxStatus | undefined } | undefined;
  end: Pick<ApplicationEnd, 'isReached'>;
}

export function readStatus({ client, health, worker, endpoints, outbox, end }: StatusParts): AnalyticsStatus {
  const isUsable = !end.isReached;
  const { missing: missingTables } = health.tables;
  return {
    queue: isUsable && health.isUp ? 'up' : isUsable && health.isRefusing ? 'refusing' : 'down',
    ...(missingTables.length > 0 && { missingTables }),
    buffered: { messages: client.pending, bytes: client.pendingBytes },
    refused: client.refused,
    worker: worker === undefined ? 'none' : worker.isRunning ? 'running' : 'stopped',
    endpointsDown: endpoints.down,
    ...(outbox?.latest !== undefined && { outbox: outbox.latest }),
  };
}
