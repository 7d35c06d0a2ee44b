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
/**
 * How long ago jobs may have reached their age to be found without reading the older ones first, in milliseconds: a
 * deploy may take that long.
 */
const RECENT = 600_000;

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

/** How far jobs have been read. */
interface Position {
  failedAt: number;
  /** Number of jobs that failed at `failedAt` and were kept. */
  kept: number;
}

/** How far jobs have been read from a time of failure on. */
interface Ahead extends Position {
  readonly from: number;
}

/**
 * Goes through the failed jobs of a partition as they reach an age, and removes those that are not kept for longer.
 * Each job is read once, so a job that stays costs nothing more. The age is by the clock of the queue's server: a
 * worker whose own clock is ahead must not remove jobs that others keep.
 *
 * There may be a million old jobs of a single destination to read. Jobs of others that reach their age meanwhile do not
 * wait for that: the walk reads them in turns with the old ones.
 */
export class RetentionWalk {
  private position: Position = { failedAt: 0, kept: 0 };
  /** A second position among recent jobs, which the first one takes over when it has come that far. */
  private ahead: Ahead | undefined;
  private begunAt = Date.now();

  constructor(private readonly parts: RetentionWalkParts) {}

  /** Makes one round. Resolves to whether there is more to read. */
  async goOn(): Promise<boolean> {
    const now = Date.now();
    if (this.ahead === undefined && now - this.begunAt > FRESH_START) this.beginAgain(now);
    if (this.ahead !== undefined) await this.readFrom(this.ahead);
    const isMore = await this.readFrom(this.position);
    // What was read ends here because of an outage, so it does not show how far the positions are apart.
    if (!this.parts.isGoingOn()) return false;
    if (isMore) this.goAhead(now);
    else this.ahead = undefined;
    return isMore;
  }

  private beginAgain(now: number): void {
    this.begunAt = now;
    this.ahead = { ...this.position, from: this.position.failedAt };
    this.position = { failedAt: 0, kept: 0 };
  }

  private goAhead(now: number): void {
    const from = this.ahead?.from ?? now - this.age - RECENT;
    if (this.position.failedAt < from) this.ahead ??= { failedAt: from, kept: 0, from };
    else if (this.ahead !== undefined) {
      this.position = this.ahead;
      this.ahead = undefined;
    }
  }

  private get age(): number {
    return Math.ceil(this.parts.retention + LATENESS);
  }

  /** Reads some jobs. Resolves to whether there are more. */
  private async readFrom(position: Position): Promise<boolean> {
    const { jobs, isGoingOn } = this.parts;
    for (let read = 0; read < MAX_JOBS; read += PAGE) {
      if (!isGoingOn()) return false;
      const { failedAt, kept: skipped } = position;
      const page = await jobs.page({ failedAt, skipped, age: this.age, size: PAGE });
      await this.pass(page, position);
      if (page.length < PAGE) return false;
    }
    return true;
  }

  /** Removes the jobs of a page that are due. If a job cannot be removed, the position stays before this page. */
  private async pass(page: readonly FailedJob[], position: Position): Promise<void> {
    const { queue, retention, retentionOf, onKept } = this.parts;
    const read = page.map((job) => ({ ...job, own: retentionOf(job) }));
    await Promise.all(read.filter(({ own }) => own <= retention).map(({ id }) => queue.remove(id)));
    for (const { failedAt, own } of read) {
      if (failedAt !== position.failedAt) Object.assign(position, { failedAt, kept: 0 });
      if (own <= retention) continue;
      position.kept++;
      onKept(own);
    }
  }
}
