import { setTimeout as sleep } from 'node:timers/promises';
import { UnknownJobFormatError } from '../errors/delivery.errors.js';
import { TimeSlice } from '../shared/time-slice.js';
import { openMessages, type QueuedBatch } from './batch-job.js';
import { suffixIn, suffixOf } from './job-id.js';
import { JobIds, UNENDED_STATES } from './job-ids.js';
import { JobSample } from './job-sample.js';
import { type Estimate, MessageTally } from './message-tally.js';
import { PartitionStore } from './partition-store.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';

/** Maximum number of messages read from jobs whose ids have the same suffix. Each job has at least one message. */
const MESSAGES = 20_000;
/** Jobs read at once: the largest hold a megabyte each. */
const PAGE = 10;

/** Jobs of one partition whose ids have the same suffix, or no suffix that tells their destination. */
interface JobGroup {
  queue: BatchJobQueue;
  suffix: string | undefined;
  jobs: JobSample;
}

/**
 * Counts the messages that wait for some destinations, in the jobs themselves. The ids tell how many jobs a destination
 * has. All of these jobs are read, or a sample if there are many.
 */
export class BacklogCount {
  private readonly groups = new Map<string, JobGroup>();

  constructor(
    private readonly queues: readonly BatchJobQueue[],
    private readonly storage: QueueStorage,
    private readonly destinations: ReadonlySet<string>,
    private readonly signal: AbortSignal,
  ) {}

  /** Finds the jobs whose messages `read` counts: those that wait now. */
  async find(): Promise<void> {
    const slice = new TimeSlice();
    for (const [partition, queue] of this.queues.entries()) {
      const jobs = new JobIds(queue, this.storage);
      for (const state of UNENDED_STATES) {
        let askedAt = performance.now();
        for await (const ids of jobs.inState(state, this.destinations)) {
          this.signal.throwIfAborted();
          for (const id of ids) {
            this.groupOf(partition, queue, suffixIn(id)).jobs.add(id);
            if (slice.isOver) await slice.pause();
          }
          await restSince(askedAt);
          askedAt = performance.now();
        }
      }
    }
  }

  /** Reads the jobs that were found. Resolves to an estimate for each destination. */
  async read(): Promise<Map<string, Estimate>> {
    const sums = new Map(Array.from(this.destinations, (id) => [id, { messages: 0, error: 0 }]));
    for (const group of this.groups.values()) {
      const tally = await this.tallyOf(group);
      for (const [destination, sum] of sums) {
        if (group.suffix !== undefined && group.suffix !== suffixOf(destination)) continue;
        const { messages, error } = tally.estimate(destination, group.jobs);
        sum.messages += messages;
        sum.error += error;
      }
    }
    return sums;
  }

  private groupOf(partition: number, queue: BatchJobQueue, suffix: string | undefined): JobGroup {
    const key = `${partition}${suffix ?? ''}`;
    let group = this.groups.get(key);
    if (group === undefined) this.groups.set(key, (group = { queue, suffix, jobs: new JobSample(MESSAGES) }));
    return group;
  }

  private async tallyOf({ queue, jobs }: JobGroup): Promise<MessageTally> {
    const tally = new MessageTally();
    const store = new PartitionStore(queue, this.storage);
    const { ids } = jobs;
    for (let start = 0; start < ids.length && tally.messages < MESSAGES; start += PAGE) {
      this.signal.throwIfAborted();
      const startedAt = performance.now();
      const read = await Promise.all(ids.slice(start, start + PAGE).map((id) => store.readOne(id)));
      for (const job of read) {
        if (job === undefined) tally.gone();
        else if (job.unreadable?.problem instanceof UnknownJobFormatError) tally.unknown();
        else tally.add(messagesIn(job.batches));
      }
      await restSince(startedAt);
    }
    return tally;
  }
}

/** Rests for as long as the work since `startedAt` took, so that half of the time is left to others. */
async function restSince(startedAt: number): Promise<void> {
  await sleep(performance.now() - startedAt, undefined, { ref: false });
}

/** Returns the number of waiting messages by destination. */
function messagesIn(batches: readonly QueuedBatch[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const batch of batches) {
    const { destination } = batch;
    counts.set(destination, (counts.get(destination) ?? 0) + openMessages(batch).length);
  }
  return counts;
}
