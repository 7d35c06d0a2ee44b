import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { types } from 'node:util';
import { SharedWork } from '../shared/shared-work.js';
import type { BacklogStore } from './backlog-store.js';
import { CompletedJobs } from './completed-jobs.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import type { QueueHealth } from './queue-health.js';

/** How often one of the processes looks for jobs to remove, in milliseconds. */
const INTERVAL = 60_000;
/** Maximum number of jobs removed in one round. Each may hold a megabyte. */
const MAX_JOBS = 500;
/** Each round is followed by a rest that is this many times as long, so that others can use the database. */
const REST = 4;

export interface CompletedRetentionParts {
  /** The partitions. */
  queues: readonly BatchJobQueue[];
  /** Where the jobs are. */
  storage: QueueStorage;
  store: Pick<BacklogStore, 'claim'>;
  health: Pick<QueueHealth, 'isUp' | 'report'>;
  /** Seconds that a completed job is kept. */
  age: number;
  /** Whether this process has a worker. Otherwise it removes no jobs. */
  isWorker: boolean;
}

/**
 * Removes completed jobs, which hold delivered messages, when their time is over. BullMQ would do so only when
 * another job is completed. A job's age is the time on the clock of the queue's server since the completion time, which
 * is by the clock of the worker.
 */
export class CompletedRetention implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(private readonly parts: CompletedRetentionParts) {}

  onApplicationBootstrap(): void {
    // An application may be closed while it is still starting.
    if (!this.parts.isWorker || this.isClosed) return;
    // One look at a time: a look takes long if there is much to remove.
    const looks = new SharedWork(() => this.look());
    this.timer = setInterval(() => {
      void looks.result();
    }, INTERVAL).unref();
  }

  beforeApplicationShutdown(): void {
    this.isClosed = true;
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    const { queues, store, health } = this.parts;
    if (!health.isUp) return;
    try {
      if (!(await store.claim('completed', INTERVAL / 2))) return;
      for (const queue of queues) await this.removeFrom(queue);
    } catch (error) {
      if (types.isNativeError(error)) health.report(error);
    }
  }

  private async removeFrom(queue: BatchJobQueue): Promise<void> {
    const { storage, health, age } = this.parts;
    const jobs = new CompletedJobs(queue, storage);
    while (!this.isClosed && health.isUp) {
      const startedAt = performance.now();
      if ((await jobs.removeOld(age * 1_000, MAX_JOBS)) < MAX_JOBS) return;
      await sleep(REST * (performance.now() - startedAt), undefined, { ref: false });
    }
  }
}
