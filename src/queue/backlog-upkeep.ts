import { setTimeout as sleep } from 'node:timers/promises';
import { SharedWork } from '../shared/shared-work.js';
import { BacklogCount } from './backlog-count.js';
import type { BacklogStore } from './backlog-store.js';
import { WAITING_COUNTS } from './job-ids.js';
import { hasUnendedJobsIn } from './postgres/job-counts.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';

/** How often one of the processes checks whether the totals can be right, in milliseconds. */
const INTERVAL = 30_000;
/** Longer than any process holds changes back, in milliseconds. */
const QUIET_TIME = 3_000;
/** How often the messages themselves are counted, in milliseconds. */
const RECOUNT_INTERVAL = 600_000;
/** Share of its limit from which a total is high: if it is wrong, messages may soon be refused. */
const HIGH_SHARE = 0.5;
/** A total is corrected if it is wrong by more than this share of the total or the count, whichever is larger. */
const TOLERANCE = 0.05;
/**
 * Number of looks that have to find a total wrong before it is corrected. At most moments, a total is off by the
 * changes that are not written yet: each process writes once a second, at moments of its own.
 */
const LOOKS = 12;
/**
 * Number of messages that one count is meant for: `COUNTED_IF_HIGH` if a total is high, otherwise `COUNTED`. A
 * destination counts as at least `LEAST` and at most `MOST` messages.
 */
const COUNTED_IF_HIGH = 100_000;
const COUNTED = 10_000;
const LEAST = 100;
const MOST = 20_000;

const UNENDED_TYPES = [...WAITING_COUNTS, 'active', 'delayed'] as const;

export interface BacklogUpkeepParts {
  /** The partitions. */
  queues: readonly BatchJobQueue[];
  /** Where the jobs are. */
  storage: QueueStorage;
  /** Where the totals are. */
  store: BacklogStore;
  /** The limit of a destination; Infinity if it has none. */
  limitOf: (destination: string) => number;
  /** Ids of destinations that are counted even if they have no total yet. @default none */
  configured?: readonly string[];
}

export interface BacklogUpkeepOptions {
  interval?: number;
  quietTime?: number;
  recountInterval?: number;
}

/**
 * Corrects the totals of the backlogs, since a killed process has not written its last changes. If the queue
 * is empty, the totals are set to 0. Otherwise messages are counted now and then, at once if a total nears its limit.
 */
export class BacklogUpkeep {
  private readonly options: Required<BacklogUpkeepOptions>;
  private readonly stopped = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly parts: BacklogUpkeepParts,
    options: BacklogUpkeepOptions = {},
  ) {
    this.options = {
      interval: INTERVAL,
      quietTime: QUIET_TIME,
      recountInterval: RECOUNT_INTERVAL,
      ...options,
    };
  }

  start(): void {
    // One run at a time: while Redis is away, the commands of each run wait for it.
    // An outage of the queue is logged elsewhere, and the next run tries again.
    const runs = new SharedWork(() => this.run().catch(() => undefined));
    this.timer = setInterval(() => {
      void runs.result();
    }, this.options.interval).unref();
  }

  close(): void {
    clearInterval(this.timer);
    this.stopped.abort();
  }

  /** Does what is due, unless another process does it. */
  async run(): Promise<void> {
    const { store } = this.parts;
    const { interval, recountInterval } = this.options;
    if (!(await store.claim('upkeep', interval / 2))) return;
    await store.tidy();
    const totals = await store.all();
    if (await this.isEmpty()) {
      if (totals.size > 0) await this.clear(totals);
      return;
    }
    const isHigh = [...totals].some((total) => this.isHigh(total));
    // A high total has a claim of its own, so that its count does not wait for the next regular count.
    const isDue = isHigh && (await store.claim('recount', recountInterval));
    if ((await store.claim('recount-of-low', recountInterval)) || isDue) await this.recount();
  }

  /** Counts the messages in the queue, and corrects totals that are certainly wrong. */
  async recount(): Promise<void> {
    const { store, configured = [] } = this.parts;
    const totals = new Map([...configured.map((id): [string, number] => [id, 0]), ...(await store.all())]);
    const destinations = this.counted(totals);
    if (destinations.size === 0) return;
    let drifts = await this.driftsOf(destinations);
    for (let look = 1; look < LOOKS && drifts.size > 0; look++) {
      // Random pauses, or looks and writes might keep in step. Together they are longer than changes are held back.
      const pause = (this.options.quietTime / (LOOKS - 1)) * (0.5 + 1.5 * Math.random());
      await sleep(pause, undefined, { ref: false });
      drifts = commonOf(drifts, await this.driftsOf(new Set(drifts.keys())));
    }
    if (drifts.size > 0) await store.add(drifts);
  }

  /** Resolves to the least number of messages by which totals seem too low; below 0 for those that seem too high. */
  private async driftsOf(destinations: ReadonlySet<string>): Promise<Map<string, number>> {
    const { queues, storage, store } = this.parts;
    this.stopped.signal.throwIfAborted();
    const before = await store.all();
    const count = new BacklogCount(queues, storage, destinations, this.stopped.signal);
    await count.find();
    const after = await store.all();
    const drifts = new Map<string, number>();
    for (const [id, { messages, error }] of await count.read()) {
      const [first, last] = [before.get(id) ?? 0, after.get(id) ?? 0];
      // The queue went on while the jobs were being found, so the count belongs to the middle of that time.
      const drift = messages - (first + last) / 2;
      const certain = Math.trunc(Math.abs(drift) - error - Math.abs(last - first) / 2);
      if (certain > TOLERANCE * Math.max(Math.abs(last), messages))
        drifts.set(id, Math.sign(drift) * certain);
    }
    return drifts;
  }

  private isHigh([destination, total]: [string, number]): boolean {
    return total >= HIGH_SHARE * this.parts.limitOf(destination);
  }

  /** Returns as many destinations as one count is meant for, in random order, but those near their limits first. */
  private counted(totals: ReadonlyMap<string, number>): ReadonlySet<string> {
    const ranks = [...totals].map(([id, total]) => ({
      id,
      cost: Math.min(Math.max(total, LEAST), MOST),
      rank: (this.isHigh([id, total]) ? 0 : 1) + Math.random(),
    }));
    const counted = new Set<string>();
    const most = [...totals].some((total) => this.isHigh(total)) ? COUNTED_IF_HIGH : COUNTED;
    let cost = 0;
    for (const each of ranks.sort((one, other) => one.rank - other.rank)) {
      if (cost >= most) break;
      cost += each.cost;
      counted.add(each.id);
    }
    return counted;
  }

  /** Clears the totals if the queue is still empty when every process has written its changes. */
  private async clear(totals: ReadonlyMap<string, number>): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.options.quietTime).unref());
    if (!this.stopped.signal.aborted && (await this.isEmpty())) await this.parts.store.clear(totals);
  }

  private async isEmpty(): Promise<boolean> {
    const { queues, storage } = this.parts;
    const found = await Promise.all(queues.map((queue) => hasUnended(queue, storage)));
    return !found.some(Boolean);
  }
}

/** Returns the drifts that both looks have found, each with the smaller of its two amounts. */
function commonOf(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): Map<string, number> {
  const common = new Map<string, number>();
  for (const [id, drift] of one) {
    const again = other.get(id) ?? 0;
    if (drift * again > 0) common.set(id, Math.abs(again) < Math.abs(drift) ? again : drift);
  }
  return common;
}

async function hasUnended(queue: BatchJobQueue, storage: QueueStorage): Promise<boolean> {
  if (storage.kind === 'postgres') return hasUnendedJobsIn(storage.pool, queue.name);
  const counts = await queue.getJobCounts(...UNENDED_TYPES);
  return Object.values(counts).some((count) => count > 0);
}
