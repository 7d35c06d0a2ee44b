import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { types } from 'node:util';
import type { ApplicationMarks } from './application-marks.js';
import { type FailedJob, FailedJobs } from './failed-jobs.js';
import type { QueueStorage } from './queue-backend.js';
import type { QueueHealth } from './queue-health.js';
import { RetentionWalk, type WalkedQueue } from './retention-walk.js';

/** Limits of the time between two looks, in milliseconds. Within the limits, the time is a quarter of the retention. */
const MIN_INTERVAL = 5_000;
const MAX_INTERVAL = 600_000;
/** Each round of a look is followed by a rest this many times as long, so that others can use the database. */
const REST = 4;
/**
 * Number of retentions that have a timer of their own. Jobs may name any number of further retentions, which are
 * rounded up to powers of two.
 */
const EXACT_RETENTIONS = 40;

export interface FailedRetentionParts {
  /** The partitions. */
  queues: readonly WalkedQueue[];
  storage: QueueStorage;
  health: Pick<QueueHealth, 'isUp' | 'report'>;
  /** Tells this application's jobs from those of others. */
  marks: Pick<ApplicationMarks, 'isOwn'>;
  /** Milliseconds that failed jobs are kept, by destination id. Other jobs name their retention themselves. */
  retentions: ReadonlyMap<string, number>;
  /** Known retentions of the other jobs. More are found in the jobs themselves. */
  otherRetentions: readonly number[];
}

/**
 * Removes failed jobs when their retention is over. BullMQ would do so only when another job fails, and would apply
 * that job's retention.
 */
export class FailedRetention implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** Timers by retention in milliseconds. */
  private readonly timers = new Map<number, NodeJS.Timeout>();
  private isClosed = false;

  constructor(private readonly parts: FailedRetentionParts) {}

  onApplicationBootstrap(): void {
    const { retentions, otherRetentions } = this.parts;
    for (const retention of [...retentions.values(), ...otherRetentions]) this.begin(retention);
  }

  beforeApplicationShutdown(): void {
    this.isClosed = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
  }

  private begin(retention: number): void {
    if (!this.timers.has(retention)) this.schedule(retention, new Map());
  }

  private readonly beginFound = (retention: number): void => {
    const isExact = this.timers.has(retention) || this.timers.size < EXACT_RETENTIONS;
    this.begin(isExact ? retention : 2 ** Math.ceil(Math.log2(retention)));
  };

  private schedule(
    retention: number,
    walks: Map<WalkedQueue, RetentionWalk>,
    delay = intervalOf(retention),
  ): void {
    if (this.isClosed) return;
    const timer = setTimeout(() => {
      void this.goOn(retention, walks)
        .catch((error: unknown) => {
          if (types.isNativeError(error)) this.parts.health.report(error);
          return undefined;
        })
        .then((rest) => {
          this.schedule(retention, walks, rest);
        });
    }, delay).unref();
    this.timers.set(retention, timer);
  }

  /** Makes one round in each partition. Resolves to the milliseconds until the next round if there is more to read. */
  private async goOn(retention: number, walks: Map<WalkedQueue, RetentionWalk>): Promise<number | undefined> {
    const startedAt = performance.now();
    let isMore = false;
    for (const queue of this.parts.queues) {
      let walk = walks.get(queue);
      if (walk === undefined) walks.set(queue, (walk = this.walkThrough(queue, retention)));
      if (await walk.goOn()) isMore = true;
    }
    return isMore ? REST * (performance.now() - startedAt) : undefined;
  }

  private walkThrough(queue: WalkedQueue, retention: number): RetentionWalk {
    return new RetentionWalk({
      queue,
      jobs: new FailedJobs(queue, this.parts.storage),
      retention,
      retentionOf: this.retentionOf,
      onKept: this.beginFound,
      isGoingOn: () => !this.isClosed && this.parts.health.isUp,
    });
  }

  /** Returns the retention of the job's destination that keeps it longest, as it is configured now. */
  private readonly retentionOf = ({ destinations, marks, retention }: FailedJob): number => {
    // Another application's destination may have the same id.
    const isOwn = marks.length === 0 || this.parts.marks.isOwn({ marks: [...marks] });
    if (destinations.length === 0 || !isOwn) return retention;
    return Math.max(...destinations.map((id) => this.parts.retentions.get(id) ?? retention));
  };
}

function intervalOf(retention: number): number {
  return Math.min(Math.max(retention / 4, MIN_INTERVAL), MAX_INTERVAL);
}
