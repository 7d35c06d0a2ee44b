import type { FailedJob, FailedJobs } from './failed-jobs.js';
import type { BatchJobQueue } from './queue-backend.js';

/** Jobs read at once, and in one round at most. */
const PAGE = 20;
const MAX_JOBS = 2_000;
/** Clocks differ, and a job may be stored some time after it failed. What is older than this is not looked for again … */
const LATENESS = 5_000;
/** … but once a day, in milliseconds. */
const FRESH_START = 86_400_000;

export interface RetentionWalkParts {
  queue: BatchJobQueue;
  jobs: FailedJobs;
  /** Milliseconds: jobs that failed later are not read. */
  retention: number;
  /** Milliseconds that a job is kept. */
  retentionOf: (job: FailedJob) => number;
  /** Called with that of a job that is kept for longer than `retention`. */
  onKept: (retention: number) => void;
  /** Whether to go on. */
  isGoingOn: () => boolean;
}

/**
 * Goes through the failed jobs of a partition as they reach an age, and removes those that are not kept for longer. Each is
 * read once, so one that stays costs nothing more.
 */
export class RetentionWalk {
  private failedAt = 0;
  /** Jobs that failed at that time and were kept. */
  private kept = 0;
  private begunAt = Date.now();

  constructor(private readonly parts: RetentionWalkParts) {}

  /** One round. */
  async goOn(): Promise<void> {
    const { queue, jobs, retention, retentionOf, onKept, isGoingOn } = this.parts;
    const now = Date.now();
    if (now - this.begunAt > FRESH_START) this.beginAt(now);
    const until = Math.floor(now - retention - LATENESS);
    for (let read = 0; read < MAX_JOBS && isGoingOn(); read += PAGE) {
      const page = await jobs.page({ failedAt: this.failedAt, skipped: this.kept, until, size: PAGE });
      for (const job of page) {
        if (job.failedAt !== this.failedAt) this.moveTo(job.failedAt);
        const own = retentionOf(job);
        if (own <= retention) await queue.remove(job.id);
        else {
          this.kept++;
          onKept(own);
        }
      }
      if (page.length < PAGE) return;
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
