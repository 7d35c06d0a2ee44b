import type { FailedJob, FailedJobs } from './failed-jobs.js';
import type { BatchJobQueue } from './queue-backend.js';

/** Jobs read at once. Redis does nothing else meanwhile, and each job may hold a megabyte. */
const PAGE = 5;
/** Jobs read in one round. */
const MAX_JOBS = 200;
/**
 * How late a job may be stored for a walk to find it, in milliseconds. Clocks differ, and a job is stored some time
 * after it failed.
 */
const LATENESS = 5_000;
/** How often a walk begins again with the oldest job, to find even later jobs: once a day, in milliseconds. */
const FRESH_START = 86_400_000;

/** A partition, as far as a walk needs it. */
export type WalkedQueue = Pick<BatchJobQueue, 'name' | 'toKey' | 'remove'>;

export interface RetentionWalkParts {
  queue: WalkedQueue;
  jobs: FailedJobs;
  /** Jobs that failed less than this time ago are not read, in milliseconds. */
  retention: number;
  /** Returns the milliseconds that a job is kept. */
  retentionOf: (job: FailedJob) => number;
  /** Called with the retention of each job that is kept for longer than `retention`. */
  onKept: (retention: number) => void;
  /** Whether to go on. */
  isGoingOn: () => boolean;
}

/**
 * Goes through the failed jobs of a partition as they reach an age, and removes those that are not kept for longer.
 * Each job is read once, so a job that stays costs nothing more. The age is by the clock of the queue's server: a
 * worker whose own clock is ahead must not remove jobs that others keep.
 */
export class RetentionWalk {
  private failedAt = 0;
  /** Number of jobs that failed at `failedAt` and were kept. */
  private kept = 0;
  private begunAt = Date.now();

  constructor(private readonly parts: RetentionWalkParts) {}

  /** Makes one round. Resolves to whether there is more to read. */
  async goOn(): Promise<boolean> {
    const { jobs, retention, isGoingOn } = this.parts;
    const now = Date.now();
    if (now - this.begunAt > FRESH_START) this.beginAt(now);
    const age = Math.ceil(retention + LATENESS);
    for (let read = 0; read < MAX_JOBS; read += PAGE) {
      if (!isGoingOn()) return false;
      const page = await jobs.page({ failedAt: this.failedAt, skipped: this.kept, age, size: PAGE });
      await this.pass(page);
      if (page.length < PAGE) return false;
    }
    return true;
  }

  /** Removes the jobs of a page that are due. If a job cannot be removed, the walk stays at this page. */
  private async pass(page: readonly FailedJob[]): Promise<void> {
    const { queue, retention, retentionOf, onKept } = this.parts;
    const read = page.map((job) => ({ ...job, own: retentionOf(job) }));
    await Promise.all(read.filter(({ own }) => own <= retention).map(({ id }) => queue.remove(id)));
    for (const { failedAt, own } of read) {
      if (failedAt !== this.failedAt) this.moveTo(failedAt);
      if (own <= retention) continue;
      this.kept++;
      onKept(own);
    }
  }

  private beginAt(now: number): void {
    this.begunAt = now;
    this.moveTo(0);
  }

  private moveTo(failedAt: number): void {
    this.failedAt = failedAt;
    this.kept = 0;
  }
}
