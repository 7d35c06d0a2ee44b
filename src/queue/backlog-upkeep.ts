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
/** From this share of its limit on, a wrong total may soon have messages refused. */
const HIGH_SHARE = 0.5;
/** A total is corrected if it is wrong by more than this share of it, or of what was counted. */
const TOLERANCE = 0.05;
/**
 * How often a total has to seem wrong. At most moments it is, by what processes have not written yet: they write once a second,
 * those that add and those that deliver at moments of their own.
 */
const LOOKS = 12;
/**
 * Messages that one count is meant for, where a total is high and where none is: those of a destination count as no fewer,
 * and as no more, than these.
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
  /** Ids of destinations that are counted even if none of their messages was ever counted. @default none */
  configured?: readonly string[];
}

export interface BacklogUpkeepOptions {
  interval?: number;
  quietTime?: number;
  recountInterval?: number;
}

/**
 * Corrects the totals of the backlogs, since a killed process has not written its last changes. If the queue
 * is empty, the totals are set to 0. Otherwise messages are counted now and then, at once if a total comes near its limit.
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
    // One run at a time: while Redis is away, the commands of each would wait for it.
    // An outage of the queue is logged elsewhere, and there is a next time.
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
    // A count that is due because of a high total does not wait for the next of the others.
    const isDue = isHigh && (await store.claim('recount', recountInterval));
    if ((await store.claim('recount-of-low', recountInterval)) || isDue) await this.recount();
  }

  /** Counts the messages in the queue, and corrects totals that are wrong for certain. */
  async recount(): Promise<void> {
    const { store, configured = [] } = this.parts;
    const totals = new Map([...configured.map((id): [string, number] => [id, 0]), ...(await store.all())]);
    const destinations = this.counted(totals);
    if (destinations.size === 0) return;
    let drifts = await this.driftsOf(destinations);
    for (let look = 1; look < LOOKS && drifts.size > 0; look++) {
      // At random, or looks and writes might keep step with each other. Together, longer than changes are held back.
      const pause = (this.options.quietTime / (LOOKS - 1)) * (0.5 + 1.5 * Math.random());
      await sleep(pause, undefined, { ref: false });
      drifts = commonOf(drifts, await this.driftsOf(new Set(drifts.keys())));
    }
    if (drifts.size > 0) await store.add(drifts);
  }

  /** By how many messages totals seem to be too low, at the least; below 0 if they seem to be too high. */
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
      // The queue went on while the jobs were looked for, so the count belongs to the middle of that time.
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

  /** As many destinations as one count is meant for: those near their limits first, otherwise at random. */
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

  /** Nothing waits, and no process has changes left to write, so the remaining totals are wrong. */
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

/** What both looks agree upon. */
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
