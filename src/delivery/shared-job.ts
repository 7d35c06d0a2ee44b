import { DelayedError } from 'bullmq';
import {
  type BatchJobData,
  failedRetentionOf,
  type LeftBatch,
  type QueuedBatch,
  sizeOfBodies,
} from '../queue/batch-job.js';
import { sizeOfJob, storedData } from '../queue/stored-data.js';
import { within } from '../shared/within.js';
import type { BatchEnd } from './batch-end.js';
import { leftOf } from './batch-settlement.js';
import { idOfLeft } from './divided-batch.js';
import { type JobInHand, type JobProcessorParts, moveToDelayed } from './job-in-hand.js';
import { promotable } from './put-back-jobs.js';

/**
 * How long, in milliseconds, finished batches wait for the others of their job before they are recorded in the queue,
 * if some of the finished batches go on in jobs of their own.
 */
const PATIENCE = 25;
/** The same if all of the finished batches are delivered. After a crash in the meantime, they are delivered again. */
const PATIENCE_OF_DELIVERED = 250;
/** The same at first if the other batches are more than half of the job. The wait doubles each time. */
const LONGER_PATIENCE = 1_000;

type PostponedBatch = Extract<BatchEnd, { kind: 'postponed' }>;

/** The end of a batch, and what is left of it, which goes on in jobs of its own. */
interface RecordedEnd {
  end: BatchEnd;
  left: LeftBatch[];
}

/**
 * A job of several batches. Each is tried once. What is left of a batch goes on in a job of its own, so that
 * no batch waits for another one's retries or receiver. The queue is updated as soon as that halves what it
 * stores, or after a while: updating it for each batch that ends would write a large job hundreds of times.
 */
export class SharedJob {
  private readonly open = new Set<QueuedBatch>();
  /** Batches that could not be tried. They stay in the job. */
  private readonly untried: QueuedBatch[] = [];
  /**
   * Batches whose destinations cannot be looked up now. They stay in the job, too: nothing of them was tried, and in
   * jobs of their own, each would have its own copy of the bodies and its own looks.
   */
  private readonly postponed: PostponedBatch[] = [];
  private readonly ended: BatchEnd[] = [];
  /** Whether some of the ended batches go on in jobs of their own. */
  private hasLeft = false;
  private recordedSize: number;
  private patience = LONGER_PATIENCE;
  private failure: { error: unknown } | undefined;
  /** How many batches have not had their turn. */
  private unbegun: number;
  /** Characters of the batches that are open. */
  private openSize: number;
  /** What `someEnded` waits for. */
  private awaited: { isMet: () => boolean; resolve: () => void } | undefined;

  constructor(
    private readonly inHand: JobInHand,
    /** The data as the queue stores it: without what is recorded as done. */
    private data: BatchJobData,
    private readonly parts: JobProcessorParts,
  ) {
    this.unbegun = data.batches.length;
    this.openSize = sizeOf(data.batches);
    this.recordedSize = this.openSize;
  }

  async deliver(): Promise<void> {
    const { signal } = this.inHand;
    this.begin();
    while (this.open.size > 0 || this.ended.length > 0) {
      await this.someEnded();
      if (this.ended.length === 0) continue;
      this.report(await this.parts.writes.untilDone(this.record, signal, () => this.open.size > 0));
    }
    // Not thrown earlier: the job is tried again soon, and would meet its batches that are still on their way.
    if (this.failure !== undefined) throw this.failure.error;
    if (this.postponed.length === 0) return;
    await moveToDelayed(this.inHand, Math.min(...this.postponed.map(({ until }) => until)));
    throw new DelayedError();
  }

  private begin(): void {
    for (const batch of this.data.batches) {
      this.open.add(batch);
      void this.attempt(batch);
    }
  }

  private async attempt(batch: QueuedBatch): Promise<void> {
    const { turns, deliveries } = this.parts;
    try {
      // Only if there is no time: a turn of its own would cost more than the work here for a batch.
      if (!turns.hasTime) await turns.take();
      if (--this.unbegun === 0) this.inHand.place.begin();
      const end = await deliveries.deliver(batch, this.inHand);
      if (!turns.hasTime) await turns.take();
      if (end.kind === 'postponed') this.postponed.push(end);
      else {
        this.ended.push(end);
        this.hasLeft ||= !leavesNothing(end);
      }
    } catch (error) {
      this.failure ??= { error };
      this.untried.push(batch);
    }
    this.open.delete(batch);
    this.openSize -= sizeOf([batch]);
    if (this.awaited?.isMet() === true) this.awaited.resolve();
  }

  /** Resolves when enough batches have ended to update the queue. */
  private async someEnded(): Promise<void> {
    await this.until(() => this.ended.length > 0 || this.isDone());
    const since = performance.now();
    if (!this.isSmall()) await within(this.patience, this.until(this.isSmall));
    if (!this.isSmall()) {
      this.patience *= 2;
      return;
    }
    await this.restOf(PATIENCE_OF_DELIVERED, since, () => this.hasLeft || this.isDone());
    await this.restOf(PATIENCE, since, this.isDone);
  }

  /** Waits until `isMet` returns `true`, but no longer than `wait` milliseconds after `since`. */
  private async restOf(wait: number, since: number, isMet: () => boolean): Promise<void> {
    const rest = since + wait - performance.now();
    if (rest > 0 && !isMet()) await within(rest, this.until(isMet));
  }

  private readonly isDone = (): boolean => this.open.size === 0;

  /** Whether so little is open that recording the ended batches would halve what the queue stores. */
  private readonly isSmall = (): boolean => this.isDone() || this.openSize <= this.recordedSize / 2;

  /** Resolves once `isMet` returns `true`. Calls it whenever a batch has ended. */
  private async until(isMet: () => boolean): Promise<void> {
    if (isMet()) return;
    await new Promise<void>((resolve) => {
      this.awaited = { isMet, resolve };
    });
  }

  /**
   * Records the ended batches in the queue. Adds the jobs for their rests first: a crash in between repeats messages,
   * but loses none.
   */
  private readonly record = async (): Promise<RecordedEnd[]> => {
    const { queue } = this.parts;
    const ended = [...this.ended];
    // A batch that ends from now on is not recorded yet, so it stays in the job.
    const rest = [...this.untried, ...this.postponed.map(({ batch }) => batch), ...this.open];
    const ends = await Promise.all(ended.map((end) => this.recordedEnd(end)));
    const jobsOfTheirOwn = ends.flatMap(({ left }) => left);
    if (jobsOfTheirOwn.length > 0) await queue.putBack(jobsOfTheirOwn);
    if (rest.length > 0) await this.store({ ...this.data, batches: rest });
    this.ended.splice(0, ended.length);
    this.hasLeft = this.ended.some((end) => !leavesNothing(end));
    return ends;
  };

  private async store(data: BatchJobData): Promise<void> {
    await this.inHand.job.updateData(storedData(data));
    this.data = data;
    this.recordedSize = sizeOf(data.batches);
    this.inHand.size = sizeOfJob(data);
    this.parts.scheduler.shrunk(this.inHand);
  }

  private report(ends: readonly RecordedEnd[]): void {
    const { queue, reporter, scheduler } = this.parts;
    for (const { end, left } of ends) {
      if (!('destination' in end)) continue;
      const { destination } = end;
      scheduler.putBack(destination, promotable(queue.partitionOf(destination.id), left));
    }
    for (const { end, left } of ends) {
      if (end.kind === 'settled') reporter.settled(end.queued, left[0]?.batch, end.settlement);
      else if (end.kind === 'dropped') reporter.dropped(end.batch);
      else reporter.ended(end.batch, ...left.map(({ batch }) => batch));
    }
  }

  private recordedEnd(end: BatchEnd): Promise<RecordedEnd> {
    if (end.kind === 'dropped' || leavesNothing(end)) return Promise.resolve({ end, left: [] });
    return this.leftOf(end).then((left) => ({ end, left }));
  }

  /**
   * Returns what goes on in jobs of its own, if anything. A batch whose destination is unknown, disabled or has wrong
   * fields is refused in that job, with its own error code.
   */
  private async leftOf(end: Exclude<BatchEnd, { kind: 'dropped' }>): Promise<LeftBatch[]> {
    const { job } = this.inHand;
    const isSettled = end.kind === 'settled';
    const left = isSettled ? leftOf(end.batch, end.settlement) : end.batch;
    // Even if nothing was tried: the job of its own has a later time, so a deletion until now would not apply to it.
    const batch = left && (await this.parts.deleted.strip(left, job));
    if (batch === undefined) return [];
    const jobId = idOfLeft(String(job.id), isSettled ? end.queued : end.batch);
    return [{ jobId, failedRetention: failedRetentionOf(job.opts), batch, dueAt: dueAtOf(end) }];
  }
}

function dueAtOf(end: BatchEnd): number | undefined {
  if (end.kind === 'settled') return end.settlement.dueAt;
  return 'until' in end ? end.until : undefined;
}

function leavesNothing(end: BatchEnd): boolean {
  return (
    end.kind === 'dropped' || (end.kind === 'settled' && leftOf(end.batch, end.settlement) === undefined)
  );
}

function sizeOf(batches: Iterable<QueuedBatch>): number {
  let size = 0;
  for (const { messages } of batches) size += sizeOfBodies(messages);
  return size;
}
