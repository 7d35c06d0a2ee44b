import type { BacklogStore } from '../queue/backlog-store.js';
import type { OutboxStatus } from '../outbox/outbox-store.js';
import type { BatchStore } from '../queue/batch-store.js';
import { failureOf } from '../queue/queue-failure.js';
import { OF_HISTORY, RemovedOwnTableError } from '../queue/removed-tables.js';
import { type OptionRule, type OptionRules, problemsOfCall, textOf } from '../options/call-options.js';
import { isRecord } from '../options/option-reader.js';
import type { WhileOpen } from '../shared/application-end.js';
import { SharedWork } from '../shared/shared-work.js';
import { within } from '../shared/within.js';
import type { DownEndpoint } from '../deliveries/endpoint-log.js';
import type { AnalyticsStatus } from './analytics-status.js';

/** Conditions for analytics to count as healthy, besides a queue that answers and stores. */
export interface AnalyticsHealthOptions {
  /** Longest duration of a check, in milliseconds. A queue that does not answer by then is down. @default 1000 */
  timeout?: number | undefined;
  /**
   * Number of messages that may wait for delivery, over all destinations and processes. A destination that is down
   * adds to them, so choose the limit with an outage of a customer in mind. @default no limit
   */
  maxWaiting?: number | undefined;
  /**
   * Milliseconds that a job may wait for a worker to take it. Retries and jobs that were put back do not count.
   * @default no limit
   */
  oldest?: number | undefined;
  /**
   * Milliseconds that a row may wait in the outbox. An outbox that does not answer counts as waiting too long.
   * @default no limit
   */
  oldestInOutbox?: number | undefined;
  /**
   * Whether this process must have a worker that runs. A process that delivers nothing needs no worker: with
   * `enabled: false`, or without a destination. @default false
   */
  requireWorker?: boolean | undefined;
}

/** What a check found. The values are those that `@nestjs/terminus` shows. */
export interface AnalyticsHealth extends AnalyticsStatus {
  status: 'up' | 'down';
  /** Why it is down; absent when it is up. */
  reasons?: string[];
  /** URLs that are down, as seen by this process: at most 20 of them. `status()` has all. */
  endpointsDown: DownEndpoint[];
  /** Number of further URLs that are down; absent when `endpointsDown` has them all. */
  moreEndpointsDown?: number;
  /** Messages that wait for delivery, over all processes; about a second old. Absent if the queue did not answer. */
  waiting?: number;
  /** Age of the oldest job that no worker has taken, in milliseconds; 0 if there is none. */
  oldest?: number;
  /** The rows of the outbox. Absent without an outbox, and if its database did not answer. */
  outbox?: OutboxStatus;
}

export interface HealthParts {
  status: () => AnalyticsStatus;
  databases: WhileOpen<Databases>;
  hasOutbox: boolean;
  /** Whether there is anything that this process could deliver. */
  delivers: boolean;
}

/** The stores that a check queries. */
interface Databases {
  backlogs: Pick<BacklogStore, 'waiting'>;
  store: Pick<BatchStore, 'oldestWaiting'>;
  outbox: { status: () => Promise<OutboxStatus> } | undefined;
}

const DEFAULT_TIMEOUT = 1_000;
/** Maximum number of endpoints in a result, which is read every few seconds while thousands of them may be down. */
const MOST_ENDPOINTS = 20;
const LIMIT: OptionRule = {
  expected: 'a number >= 0',
  accepts: (value) => typeof value === 'number' && value >= 0,
};
const OPTIONS: OptionRules<AnalyticsHealthOptions> = {
  timeout: LIMIT,
  maxWaiting: LIMIT,
  oldest: LIMIT,
  oldestInOutbox: LIMIT,
  requireWorker: { expected: 'a boolean', accepts: (value) => typeof value === 'boolean' },
};

/**
 * A health indicator for `@nestjs/terminus`, and for any other health check: it imports nothing of terminus. Use it for
 * processes with a worker and for alerts, but not for a load balancer. When the queue is down, the indicator is down in
 * all processes, so the load balancer would have no process left, although each process still takes calls.
 *
 * @example
 * health.check([() => analytics.isHealthy('analytics', { timeout: 500, requireWorker: true })])
 */
export class AnalyticsHealthIndicator {
  private readonly load = new SharedWork(() => readLoad(this.parts.databases).catch(refusalOf));

  constructor(private readonly parts: HealthParts) {}

  /**
   * Checks the queue and the outbox. Never takes longer than `timeout` and never rejects, whatever they do. An option
   * with a wrong name or value makes analytics unhealthy, and a reason says so. A destination that is down is shown,
   * and does not make analytics unhealthy: its messages are safe in the queue.
   *
   * @param key the name in the result
   */
  async isHealthy<const Key extends string>(
    key: Key,
    options: AnalyticsHealthOptions = {},
  ): Promise<Record<Key, AnalyticsHealth>> {
    // Untyped code may pass anything.
    const limits: AnalyticsHealthOptions = isRecord(options) ? options : {};
    const { timeout = DEFAULT_TIMEOUT } = limits;
    // The queue and the outbox may be in two databases, and either may be unavailable.
    const [load, outbox] = await Promise.all([
      within(timeout, this.load.result()),
      within(
        timeout,
        outboxOf(this.parts.databases).catch(() => undefined),
      ),
    ]);
    const status = this.parts.status();
    const { endpointsDown } = status;
    const more = endpointsDown.length - MOST_ENDPOINTS;
    const reasons = [
      ...reasonsOfOptions(options),
      ...reasonsOf(status, load, limits),
      ...this.reasonsOfWorker(status, limits),
      ...this.reasonsOfOutbox(outbox, limits),
    ];
    const health: AnalyticsHealth = {
      status: reasons.length === 0 ? 'up' : 'down',
      ...(reasons.length > 0 && { reasons }),
      ...status,
      endpointsDown: endpointsDown.slice(0, MOST_ENDPOINTS),
      ...(more > 0 && { moreEndpointsDown: more }),
      ...(load !== undefined && 'waiting' in load && load),
      ...(outbox !== undefined && { outbox }),
    };
    // The count in `status` is an earlier one, and says nothing about a database that does not answer now.
    if (outbox === undefined) delete health.outbox;
    // A computed key widens to `string`.
    return { [key]: health } as Record<Key, AnalyticsHealth>;
  }

  private reasonsOfWorker(
    { worker }: AnalyticsStatus,
    { requireWorker = false }: AnalyticsHealthOptions,
  ): string[] {
    if (!requireWorker || !this.parts.delivers || worker === 'running') return [];
    return [worker === 'none' ? 'This process has no worker.' : 'The worker of this process has stopped.'];
  }

  private reasonsOfOutbox(
    outbox: OutboxStatus | undefined,
    { timeout = DEFAULT_TIMEOUT, oldestInOutbox }: AnalyticsHealthOptions,
  ): string[] {
    if (!this.parts.hasOutbox || oldestInOutbox === undefined) return [];
    if (outbox === undefined) return [`The outbox did not answer within ${timeout} ms.`];
    if (outbox.oldestAge <= oldestInOutbox) return [];
    return [`A row has waited in the outbox for ${outbox.oldestAge} ms, more than ${oldestInOutbox} ms.`];
  }
}

interface Load {
  waiting: number;
  oldest: number;
}

/** The queue answers, but refuses to report its load. */
interface RefusedLoad {
  refusal: string;
  /** Whether the cause is a missing table of this module, which has a reason of its own. */
  isMissing: boolean;
}

async function outboxOf(databases: WhileOpen<Databases>): Promise<OutboxStatus | undefined> {
  return databases().outbox?.status();
}

async function readLoad(databases: WhileOpen<Databases>): Promise<Load> {
  const { backlogs, store } = databases();
  const [waiting, oldest] = await Promise.all([backlogs.waiting(), store.oldestWaiting()]);
  return { waiting, oldest: oldest === undefined ? 0 : Math.max(Date.now() - oldest, 0) };
}

function refusalOf(error: unknown): RefusedLoad {
  return {
    refusal: failureOf(error)?.reason ?? 'it returned an error',
    isMissing: error instanceof RemovedOwnTableError,
  };
}

/**
 * Returns a reason for each wrong option. A limit with a wrong name, or that is no number, as from an unset variable,
 * would never be reached.
 */
function reasonsOfOptions(options: unknown): string[] {
  return problemsOfCall(options, OPTIONS, 'options').map((problem) => {
    const text = textOf(problem, '`isHealthy()`');
    return problem.hint === undefined ? `${text}.` : text;
  });
}

function reasonsOf(
  { queue, missingTables = [] }: AnalyticsStatus,
  load: Load | RefusedLoad | undefined,
  { timeout = DEFAULT_TIMEOUT, maxWaiting = Infinity, oldest = Infinity }: AnalyticsHealthOptions,
): string[] {
  const reasons: string[] = [];
  if (queue === 'refusing') reasons.push('The queue takes no more jobs.');
  else if (queue === 'down') reasons.push('The queue cannot be reached or does not answer.');
  else if (load === undefined) reasons.push(`The queue did not answer within ${timeout} ms.`);
  else if ('refusal' in load && !load.isMissing)
    reasons.push(`The queue does not report its waiting messages: ${load.refusal}.`);
  for (const table of missingTables)
    if (!table.includes(OF_HISTORY)) reasons.push(`The table \`${table}\` is missing.`);
  if (load === undefined || 'refusal' in load) return reasons;
  if (load.waiting > maxWaiting)
    reasons.push(`${load.waiting} messages wait for delivery, more than ${maxWaiting}.`);
  if (load.oldest > oldest)
    reasons.push(`A job has waited for a worker for ${load.oldest} ms, more than ${oldest} ms.`);
  return reasons;
}
