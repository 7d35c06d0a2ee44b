import { DelayedError } from 'bullmq';
import type { Destination } from '../destinations/destination.js';
import {
  DestinationNotFoundError,
  type OtherApplicationError,
  UnknownJobFormatError,
} from '../errors/delivery.errors.js';
import { type BatchJobData, failedRetentionOf, openMessages, type QueuedBatch } from '../queue/batch-job.js';
import { jobKeyOf } from '../queue/partitions.js';
import { type JobProblem, readJob } from '../queue/read-job.js';
import { sizeOfJob, storedData } from '../queue/stored-data.js';
import { SpreadLooks } from '../shared/spread-looks.js';
import type { BatchEnd } from './batch-end.js';
import { leftOf } from './batch-settlement.js';
import { type Division, jobsOfParts } from './divided-batch.js';
import { type JobInHand, type JobProcessorParts, moveToDelayed } from './job-in-hand.js';
import { FailedForGood, RetryLater } from './job-outcome.errors.js';
import { addProgress, forgetUnknown, progressOf, withFirstAttempt } from './job-progress.js';
import { promotable, putBackJob } from './put-back-jobs.js';
import { SharedJob } from './shared-job.js';

/**
 * How often other workers get a chance to take a job that this worker does not know. Perhaps only one of many workers
 * knows it.
 */
const MOST_LOOKS = 100;
/** The same if very many such jobs wait. */
const FEWEST_LOOKS = 10;
/** Longest delays between two of these chances, in milliseconds. */
const LONGEST_DELAY_OF_FEW = 30_000;
const LONGEST_DELAY_OF_MANY = 300_000;
/** Stands for a newer format in `looks`, like the id of a destination. No destination has an empty id. */
const FORMAT = '';

/** Delivers a job, and makes the queue keep what is left of it. */
export class JobProcessor {
  /** Schedules the chances of other workers to take jobs that this worker does not know. */
  private readonly looks: SpreadLooks;

  constructor(private readonly parts: JobProcessorParts) {
    const { unknownJobTimeout } = parts;
    this.looks = new SpreadLooks({
      shortest: Math.min(unknownJobTimeout / MOST_LOOKS, LONGEST_DELAY_OF_FEW),
      longest: Math.min(unknownJobTimeout / FEWEST_LOOKS, LONGEST_DELAY_OF_MANY),
    });
  }

  process(inHand: JobInHand): Promise<void> {
    const read = readJob(inHand.job.data);
    if (!('batches' in read)) return this.refuseJob(inHand, read);
    inHand.size = sizeOfJob(read);
    const [batch] = read.batches;
    // Not awaited, since this function would then hold all batches in memory until the job ends.
    if (batch === undefined || read.batches.length > 1)
      return new SharedJob(inHand, read, this.parts).deliver();
    return this.deliver(inHand, read, batch);
  }

  private async refuseJob(inHand: JobInHand, problem: JobProblem): Promise<never> {
    if (problem instanceof UnknownJobFormatError) await this.leaveToOthers(inHand, problem);
    this.parts.reporter.refused(problem);
    throw FailedForGood.because(problem);
  }

  /** Delivers a job of one batch. */
  private async deliver(inHand: JobInHand, read: BatchJobData, batch: QueuedBatch): Promise<void> {
    if (openMessages(batch).length === 0) return this.keepFailed(inHand, read, batch);
    const { scheduler, deliveries, turns } = this.parts;
    scheduler.returned(batch.destination, keyOf(inHand));
    await turns.take();
    inHand.place.begin();
    const end = await deliveries.deliver(withFirstAttempt(batch, inHand.job), inHand, (division) =>
      this.divide(inHand, read, division),
    );
    await turns.take();
    await this.settle(inHand, read, end);
  }

  /** Makes the queue keep what is left of a job's only batch: put back, or as failed. */
  private async settle(inHand: JobInHand, data: BatchJobData, end: BatchEnd): Promise<void> {
    switch (end.kind) {
      case 'dropped':
        this.parts.reporter.dropped(end.batch);
        return;
      case 'notKnown':
        await this.leaveToOthers(inHand, end.error);
        return this.refuse(inHand, data, end);
      case 'refused':
        return this.refuse(inHand, data, end);
      case 'postponed':
        await moveToDelayed(inHand, end.until);
        throw new DelayedError();
      case 'putBack':
        return this.putBack(inHand, end.batch, end.destination, end.until);
      case 'settled':
        return this.settleTried(inHand, data, end);
    }
  }

  /** Keeps a batch as failed if all of its messages failed for good before. */
  private async keepFailed(inHand: JobInHand, data: BatchJobData, batch: QueuedBatch): Promise<void> {
    const kept = await this.record(inHand, data, batch, batch);
    if (kept !== undefined) throw FailedForGood.after(kept.messages.length);
  }

  /** Keeps a batch that cannot be tried as failed. */
  private async refuse(
    inHand: JobInHand,
    data: BatchJobData,
    { batch, error }: EndOfKind<'notKnown' | 'refused'>,
  ): Promise<void> {
    const kept = await this.record(inHand, data, batch, batch);
    this.parts.reporter.ended(batch, kept);
    if (kept === undefined) return;
    this.parts.reporter.refused(error, [kept]);
    throw FailedForGood.because(error);
  }

  private async settleTried(inHand: JobInHand, data: BatchJobData, end: EndOfKind<'settled'>): Promise<void> {
    const { batch, queued, settlement, destination } = end;
    let left = leftOf(batch, settlement);
    if (left !== undefined && isChanged(end)) {
      left = await this.record(inHand, data, left);
    } else if (left !== undefined && queued.firstAttemptAt === undefined) {
      await addProgress(inHand.job, { firstAttemptAt: settlement.firstAttemptAt });
    }
    this.parts.reporter.settled(queued, left, settlement);
    if (left === undefined) return;
    const { unsettled, retried, deferred, dueAt } = settlement;
    const open = unsettled.length + retried.length + deferred.length;
    if (retried.length === 0 && open > 0) {
      return this.putBack(inHand, left, destination, dueAt ?? Date.now());
    }
    if (dueAt !== undefined) {
      await forgetUnknown(inHand.job);
      throw new RetryLater(dueAt, open);
    }
    throw FailedForGood.after(left.messages.length);
  }

  /**
   * Records what is left of a job's only batch, and returns it without messages about deleted users.
   *
   * @param queued the batch as the queue holds it
   */
  private record(
    { job, signal }: JobInHand,
    data: BatchJobData,
    left: QueuedBatch,
    queued?: QueuedBatch,
  ): Promise<QueuedBatch | undefined> {
    return this.parts.writes.untilDone(async () => {
      const recorded = await this.parts.deleted.strip(left, job);
      if (recorded !== undefined && recorded !== queued)
        await job.updateData(storedData({ ...data, batches: [recorded] }));
      return recorded;
    }, signal);
  }

  /**
   * Puts the other parts of a batch back in jobs of their own. If the process crashes in between, or the queue does not
   * take the jobs for a minute, messages are repeated, but none is lost.
   */
  private async divide(
    inHand: JobInHand,
    read: BatchJobData,
    { destination, queued, first, rest }: Division,
  ): Promise<void> {
    const { queue, reporter, scheduler, writes, deleted } = this.parts;
    const { job, signal } = inHand;
    const jobs = jobsOfParts(String(job.id), failedRetentionOf(job.opts), rest);
    const data = { ...read, batches: [first] };
    const left = await writes.untilDone(async () => {
      const stripped = await deleted.stripEach(jobs, job);
      await queue.putBack(stripped);
      await job.updateData(storedData(data));
      return stripped;
    }, signal);
    inHand.size = sizeOfJob(data);
    scheduler.shrunk(inHand);
    reporter.ended(queued, first, ...left.map(({ batch }) => batch));
    scheduler.putBack(destination, promotable(queue.partitionOf(destination.id), left), true);
  }

  /** Puts back a job that was not tried. The job may be promoted before it is due. */
  private async putBack(
    inHand: JobInHand,
    batch: QueuedBatch,
    destination: Destination,
    until: number,
  ): Promise<never> {
    await forgetUnknown(inHand.job);
    await moveToDelayed(inHand, until);
    const isTimed = batch.notBefore !== undefined && batch.notBefore >= until;
    if (!isTimed && !inHand.signal.aborted) {
      // Only once the job is delayed: the queue cannot promote it earlier, and it would be forgotten until it is due.
      this.parts.scheduler.putBack(destination, [putBackJob(keyOf(inHand), batch, until)]);
    }
    throw new DelayedError();
  }

  /**
   * Puts a job back for a worker that knows it; during a deploy there may be one. Returns only if the job has waited
   * long enough.
   */
  private async leaveToOthers(
    inHand: JobInHand,
    error: DestinationNotFoundError | OtherApplicationError | UnknownJobFormatError,
  ): Promise<void> {
    const { unknownJobTimeout, reporter } = this.parts;
    const { job } = inHand;
    const now = Date.now();
    const since = progressOf(job).unknownSince ?? now;
    if (now - since >= unknownJobTimeout) return;
    // Not stored in the data: data in a newer format must not be rewritten by this version.
    if (since === now) await addProgress(job, { unknownSince: now });
    reporter.leftToOthers(lackOf(error), unknownJobTimeout);
    const awaited = error instanceof UnknownJobFormatError ? FORMAT : error.destination;
    await moveToDelayed(inHand, this.looks.next(awaited, now));
    throw new DelayedError();
  }
}

/** Returns why this process cannot run a job, as the rest of a sentence. */
function lackOf(error: DestinationNotFoundError | OtherApplicationError | UnknownJobFormatError): string {
  if (error instanceof UnknownJobFormatError)
    return 'cannot read a job that a newer version of nestjs-analytics wrote';
  const id = JSON.stringify(error.destination);
  return error instanceof DestinationNotFoundError
    ? `has no destination with the id ${id}`
    : `has a destination with the id ${id}, but not the one that messages were queued for: neither its write key nor ` +
        "any URL matches. Give each application that shares the queue's database a `prefix`";
}

/** Returns the id of a job over all partitions. In BullMQ's type, a job that was not added yet has no id. */
function keyOf({ job, partition }: JobInHand): string {
  return jobKeyOf(partition, String(job.id));
}

type EndOfKind<Kind extends BatchEnd['kind']> = Extract<BatchEnd, { kind: Kind }>;

/** Whether the queue's copy of a batch is out of date. Most batches that are held back have not changed. */
function isChanged({ queued, settlement }: EndOfKind<'settled'>): boolean {
  const { firstAttemptAt = settlement.firstAttemptAt, messages, notBefore } = queued;
  const isUntouched = settlement.deferred.length + settlement.unsettled.length === messages.length;
  return !isUntouched || firstAttemptAt !== settlement.firstAttemptAt || notBefore !== undefined;
}
