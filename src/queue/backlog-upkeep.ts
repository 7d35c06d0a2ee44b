import type { BacklogStore } from './backlog-store.js';
import { openMessages } from './batch-job.js';
import { WAITING_TYPES } from './job-ids.js';
import type { BatchJobQueue } from './queue-backend.js';
import { readJob } from './read-job.js';

/** How often one of the processes checks whether the totals can be right, in milliseconds. */
const INTERVAL = 30_000;
/** Longer than any process holds changes back, in milliseconds. */
const QUIET_TIME = 3_000;
/** How often the messages themselves are counted, in milliseconds. */
const RECOUNT_INTERVAL = 600_000;
/** The messages are counted only if a total is this near to its limit, as a share of it. */
const RECOUNT_SHARE = 0.5;
/** A total is corrected if it is wrong by more than this share of the limit. */
const TOLERANCE = 0.05;
/** Largest number of jobs to read for a count, evenly spread over all, and how many are read at once. */
const SAMPLE = 1_000;
const PAGE = 10;

const UNENDED_TYPES = [...WAITING_TYPES, 'active', 'delayed'] as const;

export interface BacklogUpkeepOptions {
  interval?: number;
  quietTime?: number;
  recountInterval?: number;
}

/**
 * Corrects the totals of the backlogs, since a killed process has not written its last changes. If the queue
 * is empty, the totals are set to 0. If a total comes near its limit, its messages are counted now and then.
 */
export class BacklogUpkeep {
  private readonly options: Required<BacklogUpkeepOptions>;
  private readonly stopped = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly queues: readonly Pick<BatchJobQueue, 'getJobCounts' | 'getRanges' | 'getJob'>[],
    private readonly store: BacklogStore,
    private readonly limitOf: (destination: string) => number,
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
    const work = (): void => {
      // An outage of the queue is logged elsewhere, and there is a next time.
      void this.run().catch(() => undefined);
    };
    this.timer = setInterval(work, this.options.interval).unref();
  }

  close(): void {
    clearInterval(this.timer);
    this.stopped.abort();
  }

  /** Does what is due, unless another process does it. */
  async run(): Promise<void> {
    const { interval, recountInterval } = this.options;
    if (!(await this.store.claim('upkeep', interval / 2))) return;
    const totals = await this.store.all();
    if (totals.size === 0) return;
    if (await this.isEmpty()) {
      await this.clear(totals);
      return;
    }
    const isHigh = [...totals].some(([id, total]) => total >= RECOUNT_SHARE * this.limitOf(id));
    if (isHigh && (await this.store.claim('recount', recountInterval))) await this.recount();
  }

  /** Counts the messages in the queue, and corrects wrong totals. */
  async recount(): Promise<void> {
    const before = await this.store.all();
    const counted = await this.count();
    if (counted === undefined) return;
    const after = await this.store.all();
    const corrections = new Map<string, number>();
    for (const id of new Set([...before.keys(), ...counted.keys(), ...after.keys()])) {
      // The queue went on meanwhile, so the count belongs to the middle of the time that it took.
      const total = ((before.get(id) ?? 0) + (after.get(id) ?? 0)) / 2;
      const drift = Math.round((counted.get(id) ?? 0) - total);
      if (Math.abs(drift) > TOLERANCE * this.limitOf(id)) corrections.set(id, drift);
    }
    if (corrections.size > 0) await this.store.add(corrections);
  }

  /** Nothing waits, and no process has changes left to write, so the remaining totals are wrong. */
  private async clear(totals: ReadonlyMap<string, number>): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.options.quietTime).unref());
    if (!this.stopped.signal.aborted && (await this.isEmpty())) await this.store.clear(totals);
  }

  private async isEmpty(): Promise<boolean> {
    const counts = await Promise.all(this.queues.map((queue) => queue.getJobCounts(...UNENDED_TYPES)));
    return counts.flatMap((ofPartition) => Object.values(ofPartition)).every((count) => count === 0);
  }

  /** Messages by destination; `undefined` if the count was broken off. */
  private async count(): Promise<Map<string, number> | undefined> {
    const found = await Promise.all(
      this.queues.map(async (queue) => {
        const ids = new Set(await queue.getRanges([...UNENDED_TYPES], 0, -1));
        return Array.from(ids, (id) => ({ queue, id }));
      }),
    );
    const all = found.flat();
    const step = Math.max(all.length / SAMPLE, 1);
    const sample = all.filter((_, index) => Math.floor((index + 1) / step) > Math.floor(index / step));
    const counts = new Map<string, number>();
    for (let start = 0; start < sample.length; start += PAGE) {
      if (this.stopped.signal.aborted) return undefined;
      const jobs = await Promise.all(
        sample.slice(start, start + PAGE).map(({ queue, id }) => queue.getJob(id)),
      );
      for (const job of jobs) addMessages(counts, job?.data);
    }
    const scale = all.length / Math.max(sample.length, 1);
    return new Map(Array.from(counts, ([id, count]) => [id, count * scale]));
  }
}

function addMessages(counts: Map<string, number>, data: unknown): void {
  const job = readJob(data);
  if (!('batches' in job)) return;
  for (const batch of job.batches) {
    const { destination } = batch;
    counts.set(destination, (counts.get(destination) ?? 0) + openMessages(batch).length);
  }
}
