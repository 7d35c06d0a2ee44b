import type { OnModuleDestroy } from '@nestjs/common';
import type { BatchObservableCallback, BatchObservableResult, Meter, Observable } from '@opentelemetry/api';
import type { BatchJobQueue } from '../queue/queue-backend.js';
import { type BatchStore, WAITING_COUNTS } from '../queue/batch-store.js';
import type { OutboxStatus } from '../outbox/outbox-store.js';
import { RestingWork } from '../shared/resting-work.js';
import { within } from '../shared/within.js';
import type { AnalyticsStatus } from './analytics-status.js';
import type { DestinationLabels } from './destination-labels.js';
import type { Metrics } from './metrics.js';

/** How long a collection waits for the queue and the outbox, in milliseconds. Values that come later are left out. */
const PATIENCE = 1_000;

export interface GaugesParts {
  meter: Meter;
  /** Flushed when metrics are collected. */
  metrics: Pick<Metrics, 'flush' | 'tracing'> | undefined;
  labels: DestinationLabels;
  status: () => AnalyticsStatus;
  /** The partitions; `undefined` in a process that has no queue. */
  queues: readonly Pick<BatchJobQueue, 'getJobCounts'>[] | undefined;
  store: Pick<BatchStore, 'oldestWaiting'>;
  /** `undefined` in an application without an outbox. */
  outbox: { status(): Promise<OutboxStatus> } | undefined;
}

/** Shows the state of the queue, the outbox and this process when metrics are collected. Costs nothing in between. */
export class Gauges implements OnModuleDestroy {
  private readonly observables: Observable[];
  private readonly jobs: Observable;
  private readonly oldest: Observable;
  private readonly messages: Observable;
  private readonly bytes: Observable;
  private readonly down: Observable;
  private readonly rows: Observable;
  private readonly oldestRow: Observable;
  private readonly untraced: Observable;
  /** Labels of destinations with a URL that was down at the last collection. */
  private wereDown: readonly string[] = [];
  /** Waiting, active and delayed jobs. PostgreSQL reads all of them, and there may be millions. */
  private readonly load = new RestingWork(() => readLoad(this.parts.queues ?? [], this.parts.store));
  /** Failed jobs: up to a million for each destination, and all of them are read as well. */
  private readonly failed = new RestingWork(() => countFailed(this.parts.queues ?? []));

  constructor(private readonly parts: GaugesParts) {
    const gauge = (name: string, unit: string, description: string): Observable =>
      parts.meter.createObservableGauge(`nestjs_analytics.${name}`, { unit, description });
    this.jobs = gauge('queue.jobs', '{job}', 'Jobs in the queue by their state, over all processes.');
    this.oldest = gauge('queue.oldest', 's', 'Age of the oldest job that no worker has taken.');
    this.messages = gauge('buffer.messages', '{message}', 'Messages that are not in the queue yet.');
    this.bytes = gauge('buffer.usage', 'By', 'Bytes of the messages that are not in the queue yet.');
    this.down = gauge('endpoints.down', '{endpoint}', 'URLs that are down, as seen by this process.');
    this.rows = gauge('outbox.rows', '{row}', 'Rows of the outbox by their state, over all processes.');
    this.oldestRow = gauge('outbox.oldest', 's', 'Age of the oldest row that waits in the outbox.');
    this.untraced = parts.meter.createObservableCounter('nestjs_analytics.delivery.untraced', {
      unit: '{attempt}',
      description: 'Requests without a span, because there were too many per second.',
    });
    this.observables = [
      this.jobs,
      this.oldest,
      this.messages,
      this.bytes,
      this.down,
      this.rows,
      this.oldestRow,
      this.untraced,
    ];
    parts.meter.addBatchObservableCallback(this.observe, this.observables);
  }

  onModuleDestroy(): void {
    this.parts.meter.removeBatchObservableCallback(this.observe, this.observables);
  }

  private readonly observe: BatchObservableCallback = async (result) => {
    this.parts.metrics?.flush();
    this.observeProcess(result);
    await Promise.all([this.observeQueue(result), this.observeOutbox(result)]);
  };

  private observeProcess(result: BatchObservableResult): void {
    const { buffered, endpointsDown } = this.parts.status();
    result.observe(this.messages, buffered.messages);
    result.observe(this.bytes, buffered.bytes);
    this.observeDown(result, endpointsDown);
    const untraced = this.parts.metrics?.tracing?.leftOut;
    if (untraced !== undefined) result.observe(this.untraced, untraced);
  }

  private observeDown(result: BatchObservableResult, endpoints: AnalyticsStatus['endpointsDown']): void {
    const { labels } = this.parts;
    // An SDK repeats the last value, so it has to get a 0 when the URLs of a destination are up again.
    const down = new Map([...labels.known, ...this.wereDown].map((label) => [label, 0]));
    for (const { destination } of endpoints) {
      const label = labels.of(destination);
      down.set(label, (down.get(label) ?? 0) + 1);
    }
    for (const [destination, count] of down) result.observe(this.down, count, { destination });
    this.wereDown = [...down.keys()].filter((label) => down.get(label) !== 0);
  }

  private async observeQueue(result: BatchObservableResult): Promise<void> {
    if (this.parts.queues === undefined) return;
    const askedAt = performance.now();
    // The owner of the queue logs an outage.
    const load = await within(
      PATIENCE,
      this.load.result().catch(() => undefined),
    );
    if (load === undefined) return;
    for (const [state, count] of Object.entries(load.counts)) result.observe(this.jobs, count, { state });
    result.observe(this.oldest, load.since === undefined ? 0 : Math.max(Date.now() - load.since, 0) / 1_000);
    const counted = this.failed.result().catch(() => undefined);
    const failed = await within(askedAt + PATIENCE - performance.now(), counted);
    if (failed !== undefined) result.observe(this.jobs, failed, { state: 'failed' });
  }

  private async observeOutbox(result: BatchObservableResult): Promise<void> {
    // The relay logs an outage of the database.
    const counted = this.parts.outbox?.status().catch(() => undefined);
    const status = counted && (await within(PATIENCE, counted));
    if (status === undefined) return;
    result.observe(this.rows, status.waiting, { state: 'waiting' });
    result.observe(this.rows, status.setAside, { state: 'set_aside' });
    result.observe(this.oldestRow, status.oldestAge / 1000);
  }
}

type CountedQueue = Pick<BatchJobQueue, 'getJobCounts'>;

interface Load {
  counts: Record<string, number>;
  /** When the oldest job began to wait, in milliseconds since the epoch; `undefined` if no job waits. */
  since: number | undefined;
}

async function readLoad(
  queues: readonly CountedQueue[],
  store: Pick<BatchStore, 'oldestWaiting'>,
): Promise<Load> {
  const [counts, since] = await Promise.all([
    Promise.all(queues.map((queue) => queue.getJobCounts(...WAITING_COUNTS, 'active', 'delayed'))),
    store.oldestWaiting(),
  ]);
  const sumOf = (state: string): number => counts.reduce((sum, { [state]: count = 0 }) => sum + count, 0);
  return {
    counts: {
      waiting: WAITING_COUNTS.reduce((sum, type) => sum + sumOf(type), 0),
      active: sumOf('active'),
      delayed: sumOf('delayed'),
    },
    since,
  };
}

async function countFailed(queues: readonly CountedQueue[]): Promise<number> {
  const counts = await Promise.all(queues.map((queue) => queue.getJobCounts('failed')));
  return counts.reduce((sum, { failed = 0 }) => sum + failed, 0);
}
