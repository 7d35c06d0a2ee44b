import type { BeforeApplicationShutdown } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { types } from 'node:util';
import type { ApplicationMarks } from './application-marks.js';
import { FailedJobs, type SizedJob } from './failed-jobs.js';
import { JobIds } from './job-ids.js';
import { JobRemoval } from './job-removal.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import type { QueueHealth } from './queue-health.js';

/** Jobs read at once. Redis does nothing else meanwhile, and each job may hold a megabyte. */
const PAGE = 5;
/** A destination is looked at, on average, each time that failed messages amount to this share of its limit. */
const SHARE = 1 / 20;
/** How long a look is delayed, in milliseconds, since a message is reported as failed before its job fails. */
const DELAY = 5_000;
/** After each read, nothing is read for this many times as long, so that others can use the database. */
const REST = 20;

export interface FailedLimitParts {
  /** The partitions. The limits apply to each. A destination uses more than one only after their number has grown. */
  queues: readonly BatchJobQueue[];
  storage: QueueStorage;
  health: QueueHealth;
  /** Tells this application's jobs from those of others. */
  marks: Pick<ApplicationMarks, 'isOwn' | 'isConfigured'>;
  /** Returns the maximum number of failed messages that are kept for a destination. */
  limitOf: (destination: string) => number;
  /** Called with the number of messages of a destination that were removed. */
  onRemoved: (destination: string, messages: number) => void;
}

/**
 * Removes the oldest failed jobs of a destination that has more failed messages than its limit. A destination that
 * refuses everything would otherwise fill the database for all others until the retention is over.
 *
 * There is no running count of failed messages. Replays, deletions, retentions and dashboards remove jobs as well, so
 * a count would go wrong, and jobs that should be kept would be removed. Instead, each message that fails causes a
 * look at its destination with a small probability. So it does not matter how many processes share the work, or how
 * often they are restarted.
 */
export class FailedLimit implements BeforeApplicationShutdown {
  private readonly due = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(private readonly parts: FailedLimitParts) {}

  /** Notes that messages have failed for good. */
  failed(destination: string, messages: number): void {
    if (Math.random() >= messages / this.parts.limitOf(destination) / SHARE) return;
    this.due.add(destination);
    this.schedule();
  }

  beforeApplicationShutdown(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.isClosed || this.due.size === 0) return;
    this.timer ??= setTimeout(() => {
      void this.lookAtAll().finally(() => {
        this.timer = undefined;
        this.schedule();
      });
    }, DELAY).unref();
  }

  private async lookAtAll(): Promise<void> {
    for (const destination of [...this.due]) {
      // This look may miss messages that fail from now on, so they make the destination due again.
      this.due.delete(destination);
      try {
        for (const queue of this.parts.queues) await this.lookAt(queue, destination);
      } catch (error) {
        this.due.add(destination);
        if (types.isNativeError(error)) this.parts.health.report(error);
        return;
      }
    }
  }

  private async lookAt(queue: BatchJobQueue, destination: string): Promise<void> {
    const { storage, limitOf, onRemoved } = this.parts;
    const limit = limitOf(destination);
    const jobs = new FailedJobs(queue, storage);
    const removal = new JobRemoval(queue, storage);
    let kept = 0;
    let removed = 0;
    try {
      for await (const job of this.newestFirst(queue, jobs, destination)) {
        if (kept < limit) kept += job.messages;
        else if ((await jobs.has(job.id)) && (await removal.remove(job.id))) removed += job.messages;
      }
    } finally {
      if (removed > 0) onRemoved(destination, removed);
    }
  }

  /** Yields the failed jobs that have messages for this destination alone. */
  private async *newestFirst(
    queue: BatchJobQueue,
    jobs: FailedJobs,
    destination: string,
  ): AsyncGenerator<SizedJob, void> {
    const ids = new JobIds(queue, this.parts.storage);
    for await (const page of ids.inState('failed', new Set([destination]))) {
      for (let start = 0; start < page.length; start += PAGE) {
        if (this.isClosed) return;
        const startedAt = performance.now();
        const read = await jobs.sized(page.slice(start, start + PAGE));
        const duration = performance.now() - startedAt;
        for (const job of read) if (this.isOwn(job, destination)) yield job;
        await sleep(REST * duration, undefined, { ref: false });
      }
    }
  }

  /**
   * Whether a job is this application's, and for this destination alone. Ids of jobs for different destinations may end
   * alike, and another application's destination may have the same id. The limit of a destination that is configured
   * elsewhere, or no longer configured, is not known here.
   */
  private isOwn({ destinations, marks: given }: SizedJob, destination: string): boolean {
    const { marks } = this.parts;
    const isOwn =
      given.length === 0 || (marks.isConfigured(destination) && marks.isOwn({ marks: [...given] }));
    return isOwn && destinations.length > 0 && destinations.every((id) => id === destination);
  }
}
