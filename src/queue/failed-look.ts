import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationMarks } from './application-marks.js';
import { FailedJobs, type SizedJob } from './failed-jobs.js';
import { JobIds, type JobPlace } from './job-ids.js';
import { JobRemoval } from './job-removal.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';

/** Jobs read at once, unless they are large. */
const PAGE = 50;
/** After each read, nothing is read for this many times as long, so that others can use the database. */
const REST = 20;

export interface FailedLookParts {
  /** The partitions. The limits apply to each. A destination uses more than one only after their number has grown. */
  queues: readonly BatchJobQueue[];
  storage: QueueStorage;
  /** Tells this application's jobs from those of others. */
  marks: Pick<ApplicationMarks, 'isOwn' | 'isConfigured'>;
  /** Returns the maximum number of failed messages that are kept for a destination. */
  limitOf: (destination: string) => number;
  /** Called with the number of messages of a destination that were removed. */
  onRemoved: (destination: string, messages: number) => void;
}

/**
 * Goes through the failed jobs of one destination, newest first, and removes those above its limit. It does so in turns
 * with other looks, between which it remembers only its place: very many destinations may be looked at.
 */
export class FailedLook {
  /** The partitions that are not done. */
  private readonly queues: BatchJobQueue[];
  /** Place of the latest job that was looked at in the first of these partitions. */
  private last: JobPlace | undefined;
  /** Number of messages that stay in this partition. */
  private kept = 0;
  /** Number of messages that this turn has removed. */
  private removed = 0;

  constructor(
    private readonly destination: string,
    private readonly parts: FailedLookParts,
  ) {
    this.queues = [...parts.queues];
  }

  /**
   * Goes on after the latest job. After a failure, the next turn looks at the same job again. Resolves to whether all
   * jobs have been looked at.
   *
   * @param isOver told how many jobs this turn has read, returns whether the turn is over
   */
  async takeTurn(isOver: (jobs: number) => boolean): Promise<boolean> {
    try {
      return await this.goOn(isOver);
    } finally {
      if (this.removed > 0) this.parts.onRemoved(this.destination, this.removed);
      this.removed = 0;
    }
  }

  private async goOn(isOver: (jobs: number) => boolean): Promise<boolean> {
    let jobs = 0;
    for (let [queue] = this.queues; queue !== undefined; [queue] = this.queues) {
      const ids = new JobIds(queue, this.parts.storage);
      for await (const page of ids.failedAfter(this.last, new Set([this.destination]))) {
        if (isOver(jobs)) return false;
        for (let start = 0, seen: number; start < page.length; start += seen) {
          seen = await this.lookAt(queue, page.slice(start, start + PAGE));
          jobs += seen;
          if (isOver(jobs)) return false;
        }
      }
      this.queues.shift();
      this.last = undefined;
      this.kept = 0;
    }
    return true;
  }

  /** Resolves to the number of jobs that were looked at, since large jobs are not all read at once. */
  private async lookAt(queue: BatchJobQueue, ids: readonly string[]): Promise<number> {
    const { storage, limitOf } = this.parts;
    const jobs = new FailedJobs(queue, storage);
    const removal = new JobRemoval(queue, storage);
    const limit = limitOf(this.destination);
    const startedAt = performance.now();
    const read = await jobs.sized(ids);
    const duration = performance.now() - startedAt;
    for (const job of read) {
      if (this.isOwn(job)) {
        if (this.kept < limit) this.kept += job.messages;
        else if ((await jobs.has(job.id)) && (await removal.remove(job.id))) this.removed += job.messages;
      }
      this.last = job.place;
    }
    await sleep(REST * duration, undefined, { ref: false });
    const latest = read.at(-1);
    return latest === undefined ? ids.length : ids.indexOf(latest.id) + 1;
  }

  /**
   * Whether a job is this application's, and for this destination alone. Ids of jobs for different destinations may end
   * alike, and another application's destination may have the same id. The limit of a destination that is configured
   * elsewhere, or no longer configured, is not known here.
   */
  private isOwn({ destinations, marks: given }: SizedJob): boolean {
    const { marks } = this.parts;
    const isOwn =
      given.length === 0 || (marks.isConfigured(this.destination) && marks.isOwn({ marks: [...given] }));
    return isOwn && destinations.length > 0 && destinations.every((id) => id === this.destination);
  }
}
