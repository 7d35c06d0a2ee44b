import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { types } from 'node:util';
import { failedRetentionOf } from './batch-job.js';
import type { BatchJobQueue } from './queue-backend.js';
import type { QueueHealth } from './queue-health.js';

/** The longest time between two rounds, in milliseconds. A shorter retention shortens it. */
const MAX_INTERVAL = 600_000;
const MIN_INTERVAL = 1_000;
/** Jobs read at once, and in one round at most. */
const PAGE = 20;
const MAX_JOBS = 2_000;

export interface FailedRetentionParts {
  /** The partitions. */
  queues: readonly BatchJobQueue[];
  health: QueueHealth;
  /**
   * The shortest retention of any destination, in milliseconds. Jobs that failed later than that are not
   * read.
   */
  shortest: number;
}

/**
 * Removes failed jobs when their retention is over. BullMQ does so only when another job fails, so the last
 * ones would stay forever.
 */
export class FailedRetention implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(private readonly parts: FailedRetentionParts) {}

  onApplicationBootstrap(): void {
    if (Number.isFinite(this.parts.shortest)) this.schedule();
  }

  beforeApplicationShutdown(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.isClosed) return;
    const interval = Math.min(Math.max(this.parts.shortest / 4, MIN_INTERVAL), MAX_INTERVAL);
    this.timer = setTimeout(() => {
      this.removeExpired()
        .catch((error: unknown) => {
          if (types.isNativeError(error)) this.parts.health.report(error);
        })
        .finally(() => {
          this.schedule();
        });
    }, interval).unref();
  }

  private async removeExpired(): Promise<void> {
    for (const queue of this.parts.queues) await this.removeExpiredIn(queue);
  }

  /** The oldest come first. A kept job does not shift the next page, a removed one does. */
  private async removeExpiredIn(queue: BatchJobQueue): Promise<void> {
    const { health, shortest } = this.parts;
    let kept = 0;
    for (let read = 0; read < MAX_JOBS && !this.isClosed && health.isUp; read += PAGE) {
      const jobs = await queue.getJobs('failed', kept, kept + PAGE - 1, true);
      for (const { id, finishedOn = Infinity, opts } of jobs) {
        const age = Date.now() - finishedOn;
        if (age < shortest) return;
        if (age > failedRetentionOf(opts) && id !== undefined) await queue.remove(id);
        else kept++;
      }
      if (jobs.length < PAGE) return;
    }
  }
}
