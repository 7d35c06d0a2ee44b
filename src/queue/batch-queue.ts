import type { JobsOptions } from 'bullmq';
import type { ApplicationMarks } from './application-marks.js';
import {
  BATCH_JOB_VERSION,
  type BatchMessage,
  JOB_NAME,
  type JobTerms,
  type LeftBatch,
  type NewBatch,
  type NewJob,
  type QueuedBatch,
} from './batch-job.js';
import { partitionOf } from './partitions.js';
import type { AddMemory, BatchJobQueue } from './queue-backend.js';
import { sizeOfJob, storedData } from './stored-data.js';

/** More attempts than fit into any retry window. PostgreSQL cannot store a larger number. */
const ATTEMPTS = 2 ** 31 - 1;
const DEFAULT_MEMORY: AddMemory = { completed: { age: 300, count: 100 } };
/** Most jobs that are added at once, and about the most characters: a database limits what a statement may hold. */
const MAX_BULK_JOBS = 200;
const MAX_BULK_SIZE = 2 ** 20;
/** BullMQ hands out jobs with a priority after those without one, in the order in which they were added. */
const AFTER_OTHERS: JobsOptions = { priority: 1 };

export interface BatchQueueOptions {
  /** Called with the number of messages for a destination that were not in the queue before. */
  onAdded?: (destination: string, messages: number) => void;
  /** Called with the number of messages for a destination that had failed for good and wait again. */
  onReplayed?: (destination: string, messages: number) => void;
  /** Whether many messages wait for a destination. @default none has many */
  hasManyWaiting?: (destination: string) => boolean;
  memory?: AddMemory;
  /** Number of partitions that jobs are added to. @default all */
  written?: number;
  /** Marks batches, and tells them from those of other applications. @default none of them is another application's */
  marks?: Pick<ApplicationMarks, 'of' | 'isOwn'>;
}

type JobToAdd = Parameters<BatchJobQueue['addBulk']>[0][number];

/** What becomes a job in one partition. */
interface JobPart {
  partition: number;
  batches: QueuedBatch[];
  opts: JobsOptions;
}

/** Adds batches to the queue as jobs, each to the partition of its destination. */
export class BatchQueue {
  private readonly memory: AddMemory;
  private readonly partitions: number;

  /** @param queues the partitions */
  constructor(
    private readonly queues: readonly BatchJobQueue[],
    private readonly options: BatchQueueOptions = {},
  ) {
    this.memory = options.memory ?? DEFAULT_MEMORY;
    this.partitions = options.written ?? queues.length;
  }

  /** The partition that messages for a destination are added to. */
  readonly partitionOf = (destination: string): number => partitionOf(destination, this.partitions);

  /** Whether this application queued a batch, rather than another application on the same database. */
  isOwn(batch: QueuedBatch): boolean {
    return this.options.marks?.isOwn(batch) ?? true;
  }

  /**
   * Adds jobs, and resolves once all of them are in the queue. For some minutes, adding a job again is harmless.
   * A job with batches of several partitions becomes a job in each of them, under the same id.
   */
  async add(jobs: readonly NewJob[]): Promise<void> {
    await this.addUncounted(jobs);
    for (const { batches } of jobs) {
      for (const { destination, messages } of batches) this.options.onAdded?.(destination, messages.length);
    }
  }

  /** Counts messages as waiting for a destination again. */
  countReplayed(destination: string, messages: number): void {
    this.options.onReplayed?.(destination, messages);
  }

  /**
   * Adds jobs like `add`, but does not count their messages. A replay learns only later how many were not in the queue
   * before, and then calls `countReplayed`.
   */
  async addUncounted(jobs: readonly NewJob[]): Promise<void> {
    const { ids } = this.memory;
    const parts = jobs.flatMap((job) =>
      Array.from(this.divided(job.batches), ([partition, batches]) => ({
        partition,
        batches: batches.map((batch) => this.marked(batch)),
        opts: this.optionsOf(job, {
          ...(ids === undefined ? {} : { deduplication: { id: job.jobId, ttl: ids } }),
          ...this.priorityOf(batches),
        }),
      })),
    );
    await this.addJobs(parts);
  }

  /**
   * Adds the rests of batches. Each is due when it may be tried again. A rest that is due at once goes to the
   * front, since it has waited before.
   */
  putBack(left: readonly LeftBatch[]): Promise<void> {
    const now = Date.now();
    return this.addJobs(
      left.map(({ batch, dueAt = now, ...terms }) => {
        const delay = Math.max(dueAt - now, 0);
        return {
          partition: this.partitionOf(batch.destination),
          batches: [batch],
          opts: this.optionsOf(terms, delay > 0 ? { delay, ...this.priorityOf([batch]) } : { lifo: true }),
        };
      }),
    );
  }

  private divided(batches: readonly NewBatch[]): Map<number, readonly NewBatch[]> {
    return this.partitions === 1
      ? new Map([[0, batches]])
      : groupedBy(batches, ({ destination }) => this.partitionOf(destination));
  }

  /**
   * Returns options that let other jobs go first if many messages wait for each destination of this job. Without them, a
   * process that starts on a long backlog would sort through all of it before it sends anything to other destinations.
   */
  private priorityOf(batches: readonly Pick<NewBatch, 'destination'>[]): JobsOptions {
    const { hasManyWaiting } = this.options;
    if (hasManyWaiting === undefined) return {};
    return batches.every(({ destination }) => hasManyWaiting(destination)) ? AFTER_OTHERS : {};
  }

  private marked(batch: NewBatch): QueuedBatch {
    const marks = batch.marks ?? this.options.marks?.of(batch);
    return marks === undefined ? batchOf(batch) : { ...batchOf(batch), marks };
  }

  private optionsOf({ jobId, failedRetention }: JobTerms, own: JobsOptions): JobsOptions {
    return {
      jobId,
      attempts: ATTEMPTS,
      backoff: { type: 'custom' },
      stackTraceLimit: 1,
      removeOnComplete: this.memory.completed,
      removeOnFail: { age: Math.ceil(failedRetention / 1000) },
      ...own,
    };
  }

  private async addJobs(parts: readonly JobPart[]): Promise<void> {
    const adds = Array.from(
      groupedBy(parts, ({ partition }) => partition),
      async ([partition, ofPartition]) => {
        for (const bulk of bulksOf(ofPartition)) await this.addBulk(partition, bulk.map(jobOf));
      },
    );
    await Promise.all(adds);
  }

  private async addBulk(partition: number, jobs: JobToAdd[]): Promise<void> {
    const queue = this.queues[partition];
    const [first] = jobs;
    // For a single job, a bulk would only cost more.
    if (first !== undefined && jobs.length === 1) await queue?.add(first.name, first.data, first.opts);
    else await queue?.addBulk(jobs);
  }
}

/** Divides parts into bulks that are added one after the other. If only some of them are, adding all again is harmless. */
function* bulksOf(parts: readonly JobPart[]): Generator<readonly JobPart[]> {
  let bulk: JobPart[] = [];
  let size = 0;
  for (const part of parts) {
    const added = sizeOfJob({ v: BATCH_JOB_VERSION, batches: part.batches });
    if (bulk.length === MAX_BULK_JOBS || (bulk.length > 0 && size + added > MAX_BULK_SIZE)) {
      yield bulk;
      bulk = [];
      size = 0;
    }
    bulk.push(part);
    size += added;
  }
  yield bulk;
}

function groupedBy<T>(items: readonly T[], groupOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const group = groups.get(groupOf(item));
    if (group === undefined) groups.set(groupOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function jobOf({ batches, opts }: JobPart): JobToAdd {
  return { name: JOB_NAME, data: storedData({ v: BATCH_JOB_VERSION, batches }), opts };
}

function batchOf({ destination, source, messages }: NewBatch): QueuedBatch {
  return {
    destination,
    source,
    messages: messages.map(({ id, body, tenant, call }) => {
      const message: BatchMessage = { id, body, outcomes: [] };
      if (tenant !== undefined) message.tenant = tenant;
      if (call !== undefined) message.call = call;
      return message;
    }),
  };
}
