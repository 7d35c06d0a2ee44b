import { createHash } from 'node:crypto';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import { failedRetentionOf, type LeftBatch, type QueuedBatch } from '../queue/batch-job.js';
import type { BatchQueue } from '../queue/batch-queue.js';
import { within } from '../time/within.js';
import type { BatchAttempts } from './batch-attempts.js';
import type { BatchJob } from './batch-processor.js';
import { type BatchSettlement, leftOf } from './batch-settlement.js';
import { busyUntil } from './busy-until.js';
import type { DeliveryReporter } from './delivery-reporter.js';

/** How long batches that are done wait for the others of their job before the queue is told, in milliseconds. */
const PATIENCE = 25;

/** What the attempt of a batch came to. */
interface Attempted {
  /** `undefined` when it could not be made. */
  settlement: BatchSettlement | undefined;
  left: QueuedBatch | undefined;
}

/** The attempt of a batch, on its way. */
interface Attempt {
  batch: QueuedBatch;
  done: Promise<void>;
  result: Attempted | undefined;
}

/**
 * Delivers a job of several batches: tries each of them once, and gives what is left of them jobs of their
 * own, so that the job itself is done. No batch waits for another one's retries, nor for its receiver.
 */
export class SharedJobProcessor {
  constructor(
    private readonly destinations: DestinationRegistry,
    private readonly attempts: BatchAttempts,
    private readonly queue: BatchQueue,
    private readonly reporter: DeliveryReporter,
  ) {}

  async process(job: BatchJob, signal: AbortSignal): Promise<void> {
    let open = job.data.batches.map((batch) => this.begin(batch, signal));
    while (open.length > 0) {
      const ends = open.map(({ done }) => done);
      await Promise.race(ends);
      await within(PATIENCE, Promise.all(ends));
      const rest = open.filter(({ result }) => result === undefined);
      await this.settle(job, open, rest);
      open = rest;
    }
  }

  private begin(batch: QueuedBatch, signal: AbortSignal): Attempt {
    const attempt: Attempt = { batch, done: Promise.resolve(), result: undefined };
    attempt.done = this.make(batch, signal).then((result) => {
      attempt.result = result;
    });
    return attempt;
  }

  private async make(batch: QueuedBatch, signal: AbortSignal): Promise<Attempted> {
    const destination = await this.destinations.find(batch.destination);
    // In a job of its own it is refused, and kept as what it is.
    if (destination === undefined) return { settlement: undefined, left: batch };
    const settlement = await this.attempts.make(batch, destination, signal);
    if (settlement !== undefined) return { settlement, left: leftOf(batch, settlement) };
    const now = Date.now();
    // The window of a message begins when it is put off, too.
    return { settlement, left: { ...batch, firstAttemptAt: now, notBefore: busyUntil(now) } };
  }

  /** Has the queue know what is done, first what is left of it: a crash in between repeats, and loses nothing. */
  private async settle(job: BatchJob, attempts: readonly Attempt[], rest: readonly Attempt[]): Promise<void> {
    const failedRetention = failedRetentionOf(job.opts);
    const left = attempts.flatMap(({ result }): LeftBatch[] =>
      result?.left === undefined
        ? []
        : [{ jobId: idOf(job, result.left), failedRetention, batch: result.left }],
    );
    if (left.length > 0) await this.queue.putBack(left);
    if (rest.length > 0) await job.updateData({ ...job.data, batches: rest.map(({ batch }) => batch) });
    for (const { batch, result } of attempts) {
      if (result?.settlement !== undefined) this.reporter.settled(batch, result.settlement);
    }
  }
}

/**
 * The same for the same batch of the same job: when a job is tried again after a crash, what it leaves then
 * was either left the first time, too, or is delivered.
 */
function idOf({ id }: BatchJob, { destination, source }: QueuedBatch): string {
  const hash = createHash('sha256').update(JSON.stringify([destination, source]));
  return `${String(id)}-${hash.digest('hex').slice(0, 16)}`;
}
