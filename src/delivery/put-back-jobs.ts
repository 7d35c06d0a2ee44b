import { type LeftBatch, openMessages, type QueuedBatch } from '../queue/batch-job.js';
import { jobKeyOf } from '../queue/partitions.js';
import type { JobMemory } from './job-memory.js';
import { urlsThatRefusedAll } from './refused-urls.js';
import { UnrememberedJobs } from './unremembered-jobs.js';

/** A job that went back to the queue until it is due. */
export interface PutBackJob {
  /** Its id over all partitions. */
  readonly key: string;
  readonly messages: number;
  /** In milliseconds since the epoch. */
  readonly dueAt: number;
  /** Hashes of the URLs that have refused all of its messages for good. It does not wait for them. */
  readonly refusedBy: readonly string[];
}

/** Jobs that wait for the same URLs, in order. */
interface Line {
  readonly refusedBy: readonly string[];
  /** They come before the others. */
  parts: Set<RememberedJob>;
  readonly jobs: Set<RememberedJob>;
}

/** There may be very many: what their line knows is not kept for each. */
interface RememberedJob extends Omit<PutBackJob, 'refusedBy'> {
  readonly line: Line;
  isPromoted: boolean;
  /** When the queue had promoted it, in milliseconds since the epoch; `undefined` until then. */
  promotedAt?: number;
}

/** How long a promoted job may take to return before another process counts as having it, in milliseconds. */
const MIN_PATIENCE = 250;
const MAX_PATIENCE = 2_000;
/** The same, as a multiple of the usual time: where the queue is busy, all of them take long. */
const PATIENCE_FACTOR = 4;
/** Weight of the latest return against the earlier ones. */
const WEIGHT = 0.2;

/** Parts of batches that come before other jobs. Unless parts return before their turn, a few batches are divided at a time. */
const MAX_PARTS = 100;

/** How often late jobs are looked for, in milliseconds. */
const FORGET_INTERVAL = 1_000;

/**
 * The jobs of one destination that this process has put back, in order. The time at which a job returns is an
 * estimate. When the destination has room before that, the next jobs are promoted.
 */
export class PutBackJobs {
  private readonly jobs = new Map<string, RememberedJob>();
  /** Apart, so that those whose URLs are down are not gone through for each of the others. */
  private readonly lines = new Map<string, Line>();
  private total = 0;
  private readonly unremembered = new UnrememberedJobs();
  /** In milliseconds since the epoch. Not all destinations have theirs gone through at the same moment. */
  private forgotAt = Date.now() - Math.random() * FORGET_INTERVAL;
  /** How long promoted jobs take to return, in milliseconds. */
  private usualReturn = 0;

  constructor(private readonly memory: JobMemory) {}

  /** Those that are not remembered are counted as well, here and below: each of them returns too. */
  get size(): number {
    return this.jobs.size + this.unremembered.waiting(Date.now()).jobs;
  }

  /** Whether there are none, as nearly always. */
  get isEmpty(): boolean {
    return this.jobs.size === 0 && this.unremembered.isEmpty;
  }

  /** Messages of all these jobs. */
  get messages(): number {
    return this.isEmpty ? 0 : this.total + this.unremembered.waiting(Date.now()).messages;
  }

  /** @param areParts whether they come before the others, so that a batch is sent as a whole before the next one is divided */
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

  /** A job is here again. */
  returned(key: string, now: number): void {
    const promotedAt = this.jobs.get(key)?.promotedAt;
    if (promotedAt !== undefined) this.usualReturn += WEIGHT * (now - promotedAt - this.usualReturn);
    this.delete(key);
  }

  /** A job is with another process, or gone. */
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
   * @param most jobs that may be on their way
   * @param now milliseconds since the epoch
   * @param isHeldBack whether a job cannot be sent now to any but these URLs, which have refused it
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

  /** The queue has promoted a job. */
  promoted(key: string, now: number): void {
    const job = this.jobs.get(key);
    if (job !== undefined) job.promotedAt = now;
  }

  /**
   * Forgets the jobs that are late, which would count as work that waits here. `promote` does so too, but not
   * with those whose URLs are down.
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

  /** Whether another process has a job by now, or it is on its way here. */
  private isLate({ dueAt, promotedAt = Infinity }: RememberedJob, now: number): boolean {
    const patience = Math.min(Math.max(MIN_PATIENCE, PATIENCE_FACTOR * this.usualReturn), MAX_PATIENCE);
    return dueAt < now || promotedAt < now - patience;
  }
}

/** A batch that goes back to the queue in a job of its own, until it is due. */
export function putBackJob(key: string, batch: QueuedBatch, dueAt: number): PutBackJob {
  const refusedBy = urlsThatRefusedAll(openMessages(batch));
  return { key, messages: batch.messages.length, dueAt, refusedBy };
}

/**
 * Those of the jobs that were just made from rests of batches that may be promoted. The others are due at once, or
 * at the time of their next attempt.
 *
 * @param partition that they were added to
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

/** The first of each, then the second of each, and so on. */
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
