import { type LeftBatch, openMessages, type QueuedBatch } from '../queue/batch-job.js';
import { jobKeyOf } from '../queue/partitions.js';
import type { JobMemory } from './job-memory.js';
import { urlsThatRefusedAll } from './refused-urls.js';
import { UnrememberedJobs } from './unremembered-jobs.js';

/** A job that went back to the queue until it is due. */
export interface PutBackJob {
  /** The job's id over all partitions. */
  readonly key: string;
  readonly messages: number;
  /** In milliseconds since the epoch. */
  readonly dueAt: number;
  /** Hashes of the URLs that have refused all of its messages for good. The job does not wait for them. */
  readonly refusedBy: readonly string[];
}

/** Jobs that wait for the same URLs, in order. */
interface Line {
  readonly refusedBy: readonly string[];
  /** Parts of divided batches. They come before `jobs`. */
  parts: Set<RememberedJob>;
  readonly jobs: Set<RememberedJob>;
}

/** A put-back job in memory. There may be very many, so what their line knows is not kept for each. */
interface RememberedJob extends Omit<PutBackJob, 'refusedBy'> {
  readonly line: Line;
  isPromoted: boolean;
  /** When the queue had promoted it, in milliseconds since the epoch; `undefined` until then. */
  promotedAt?: number;
}

/** Bounds, in milliseconds, of the time after which a promoted job counts as taken by another process. */
const MIN_PATIENCE = 250;
const MAX_PATIENCE = 2_000;
/** The same, as a multiple of the usual time: when the queue is busy, all jobs take long. */
const PATIENCE_FACTOR = 4;
/** Weight of the latest return time against the earlier ones. */
const WEIGHT = 0.2;

/** Most parts that come before other jobs. Only a few batches are divided at a time, unless parts return too early. */
const MAX_PARTS = 100;

/** How often late jobs are looked for, in milliseconds. */
const FORGET_INTERVAL = 1_000;

/**
 * The jobs of one destination that this process has put back, in order. The time at which a job returns is an
 * estimate. When the destination has room before that, the next jobs are promoted.
 */
export class PutBackJobs {
  private readonly jobs = new Map<string, RememberedJob>();
  /** Jobs by `refusedBy`, so that a search need not go through all jobs whose URLs are down. */
  private readonly lines = new Map<string, Line>();
  private total = 0;
  private readonly unremembered = new UnrememberedJobs();
  /** When late jobs were last forgotten, in milliseconds since the epoch. Random at first, to spread the work. */
  private forgotAt = Date.now() - Math.random() * FORGET_INTERVAL;
  /** How long promoted jobs take to return, in milliseconds. */
  private usualReturn = 0;

  constructor(private readonly memory: JobMemory) {}

  /** Number of jobs. Here and below, jobs that are not remembered count as well, since they return too. */
  get size(): number {
    return this.jobs.size + this.unremembered.waiting(Date.now()).jobs;
  }

  /** Whether there are no such jobs, which is nearly always the case. */
  get isEmpty(): boolean {
    return this.jobs.size === 0 && this.unremembered.isEmpty;
  }

  /** Messages of all these jobs. */
  get messages(): number {
    return this.isEmpty ? 0 : this.total + this.unremembered.waiting(Date.now()).messages;
  }

  /** @param areParts whether the jobs come first, so that a batch is sent as a whole before the next one is divided */
  add(jobs: readonly PutBackJob[], areParts: boolean): void {
    const parts = new Map<Line, RememberedJob[]>();
    for (const job of jobs) {
      const remembered = this.remember(job);
      if (remembered === undefined) continue;
      const { line } = remembered;
      const before = parts.get(line) ?? [];
      if (areParts && line.parts.size + before.length < MAX_PARTS) parts.set(line, [...before, remembered]);
      else line.jobs.add(remembered);
    }
    for (const [line, added] of parts) line.parts = new Set([...added, ...line.parts]);
  }

  /** Notes that a job is here again. */
  returned(key: string, now: number): void {
    const promotedAt = this.jobs.get(key)?.promotedAt;
    if (promotedAt !== undefined) this.usualReturn += WEIGHT * (now - promotedAt - this.usualReturn);
    this.delete(key);
  }

  /** Forgets a job, for example because another process has it or it is gone. */
  delete(key: string): void {
    const job = this.jobs.get(key);
    if (job === undefined) return;
    this.jobs.delete(key);
    this.total -= job.messages;
    this.memory.release();
    const { parts, jobs, refusedBy } = job.line;
    if (!parts.delete(job)) jobs.delete(job);
    if (parts.size + jobs.size === 0) this.lines.delete(nameOf(refusedBy));
  }

  /**
   * Returns the next jobs to promote, so that this many messages are on their way here.
   *
   * @param most largest number of jobs that may be on their way
   * @param now milliseconds since the epoch
   * @param isHeldBack whether a job that these URLs have refused cannot be sent to any other URL now
   */
  promote(
    messages: number,
    most: number,
    now: number,
    isHeldBack: (refusedBy: readonly string[]) => boolean,
  ): string[] {
    const promoted: string[] = [];
    let coming = 0;
    let jobs = 0;
    const lines = [...this.lines.values()].filter(({ refusedBy }) => !isHeldBack(refusedBy));
    for (const job of inTurn(lines.map(jobsInOrder))) {
      if (coming >= messages || jobs >= most) break;
      if (this.isLate(job, now)) {
        this.delete(job.key);
        continue;
      }
      coming += job.messages;
      jobs++;
      if (job.isPromoted) continue;
      job.isPromoted = true;
      promoted.push(job.key);
    }
    return promoted;
  }

  /** Notes that the queue has promoted a job. */
  promoted(key: string, now: number): void {
    const job = this.jobs.get(key);
    if (job !== undefined) job.promotedAt = now;
  }

  /**
   * Forgets late jobs, which would otherwise count as work that waits here. `promote` does so too, but not for jobs
   * whose URLs are down.
   *
   * @param now milliseconds since the epoch
   */
  forgetLate(now: number): void {
    // The clock may be set back.
    if (Math.abs(now - this.forgotAt) < FORGET_INTERVAL) return;
    this.forgotAt = now;
    for (const job of this.jobs.values()) if (this.isLate(job, now)) this.delete(job.key);
  }

  private remember({ key, messages, dueAt, refusedBy }: PutBackJob): RememberedJob | undefined {
    this.delete(key);
    if (!this.memory.hasRoomBeside(this.jobs.size)) {
      this.unremembered.add(messages, dueAt, Date.now());
      return undefined;
    }
    const remembered = { key, messages, dueAt, line: this.lineOf(refusedBy), isPromoted: false };
    this.jobs.set(key, remembered);
    this.total += messages;
    this.memory.take();
    return remembered;
  }

  private lineOf(refusedBy: readonly string[]): Line {
    const name = nameOf(refusedBy);
    let line = this.lines.get(name);
    if (line === undefined) this.lines.set(name, (line = { refusedBy, parts: new Set(), jobs: new Set() }));
    return line;
  }

  /** Whether a job should be here by now: another process has it, or it is on its way. */
  private isLate({ dueAt, promotedAt = Infinity }: RememberedJob, now: number): boolean {
    const patience = Math.min(Math.max(MIN_PATIENCE, PATIENCE_FACTOR * this.usualReturn), MAX_PATIENCE);
    return dueAt < now || promotedAt < now - patience;
  }
}

/** Returns the put-back job for a batch that goes back to the queue in a job of its own, until it is due. */
export function putBackJob(key: string, batch: QueuedBatch, dueAt: number): PutBackJob {
  const refusedBy = urlsThatRefusedAll(openMessages(batch));
  return { key, messages: batch.messages.length, dueAt, refusedBy };
}

/**
 * Returns the jobs that may be promoted, out of jobs that were just made for the rests of batches. The others are due
 * at once, or at the time of their next attempt.
 *
 * @param partition the partition that the jobs were added to
 */
export function promotable(partition: number, left: readonly LeftBatch[]): PutBackJob[] {
  return left.flatMap(({ jobId, batch, dueAt }) =>
    dueAt === undefined || batch.notBefore !== undefined
      ? []
      : [putBackJob(jobKeyOf(partition, jobId), batch, dueAt)],
  );
}

function* jobsInOrder({ parts, jobs }: Line): Generator<RememberedJob> {
  yield* parts;
  yield* jobs;
}

function nameOf(refusedBy: readonly string[]): string {
  return refusedBy.join();
}

/** Yields the first item of each, then the second of each, and so on. */
function* inTurn<T>(all: readonly Iterable<T>[]): Generator<T> {
  let rest = all.map((one) => one[Symbol.iterator]());
  while (rest.length > 0) {
    const left: Iterator<T>[] = [];
    for (const iterator of rest) {
      const next = iterator.next();
      if (next.done === true) continue;
      left.push(iterator);
      yield next.value;
    }
    rest = left;
  }
}
