import type { DeletedUsers, QueuedJob } from '../deliveries/deleted-users.js';
import type { DeliveryResult, Destination } from '../destinations/destination.js';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import type { AnalyticsError } from '../errors/analytics.error.js';
import { DestinationNotFoundError, OtherApplicationError } from '../errors/delivery.errors.js';
import { DestinationDisabledError, InvalidDestinationError } from '../errors/destination.errors.js';
import { type BatchMessage, openMessages, type QueuedBatch } from '../queue/batch-job.js';
import type { BatchQueue } from '../queue/batch-queue.js';
import { type BatchSettlement, settleBatch, type TriedBatch } from './batch-settlement.js';
import { SpreadLooks } from '../shared/spread-looks.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import type { DeliveryScheduler } from './delivery-scheduler.js';
import { messagesAtOnce } from './destination-pace.js';
import { divided, type Division } from './divided-batch.js';
import { JobSizes, type SizedJob } from './job-sizes.js';
import { refusedUrls } from './refused-urls.js';
import { lastAttemptAt, resumedWindow } from './retry-policy.js';

/** What became of a batch that a worker took from the queue. */
export type BatchEnd =
  /** Its messages were tried, or held back by their URLs. */
  | {
      kind: 'settled';
      /** As the queue holds it. */
      queued: QueuedBatch;
      /** Without messages about users who were deleted meanwhile. */
      batch: QueuedBatch;
      destination: Destination;
      settlement: BatchSettlement;
    }
  /** It goes back unchanged until this moment, in milliseconds since the epoch. */
  | { kind: 'putBack'; batch: QueuedBatch; destination: Destination; until: number }
  /** This process has no destination with that id, or the batch is another application's. */
  | { kind: 'notKnown'; batch: QueuedBatch; error: DestinationNotFoundError | OtherApplicationError }
  /** Its destination cannot be looked up before this moment, in milliseconds since the epoch. */
  | { kind: 'postponed'; batch: QueuedBatch; until: number }
  /** Its destination is disabled, or has wrong fields, so its messages are kept as failed. */
  | { kind: 'refused'; batch: QueuedBatch; error: AnalyticsError }
  /** Its destination was deleted, so nobody wants its messages. */
  | { kind: 'dropped'; batch: QueuedBatch };

/** The job that a batch is in. */
interface BatchInHand extends SizedJob {
  job: QueuedJob;
  signal: AbortSignal;
}

interface BatchDeliveryParts {
  destinations: DestinationRegistry;
  scheduler: DeliveryScheduler;
  reporter: Pick<DeliveryReporter, 'attempted' | 'notLookedUp'>;
  deleted: DeletedUsers;
  queue: Pick<BatchQueue, 'isOwn'>;
  /** Characters of jobs that may wait for look-ups. */
  maxLookedUpFor: number;
}

/** What a look-up has found; `undefined` if this process has no such destination. */
type FoundDestination =
  Destination | InvalidDestinationError | 'deleted' | 'unavailable' | 'later' | undefined;

/** After a destination could not be looked up, when to try again, in milliseconds. */
const LOOK_AGAIN_AFTER = 5_000;
/** The longest time between two of these looks, in milliseconds. */
const LONGEST_LOOK = 300_000;

/** Decides what happens to a batch now, and has its messages sent when their turn comes. */
export class BatchDelivery {
  /** When jobs look again whose destinations cannot be looked up. Many may wait until somebody puts that right. */
  private readonly looks = new SpreadLooks({ shortest: LOOK_AGAIN_AFTER, longest: LONGEST_LOOK });
  /** Jobs that wait for a look-up. The application's store may be slow. */
  private readonly lookedUpFor = new JobSizes();

  constructor(private readonly parts: BatchDeliveryParts) {}

  /**
   * @param divide leaves one part of a batch in its job, and puts the others back; `undefined` if the job has other batches.
   *   Then a batch that is too large is put back as a whole, in a job of its own.
   */
  async deliver(
    queued: QueuedBatch,
    inHand: BatchInHand,
    divide?: (division: Division) => Promise<void>,
  ): Promise<BatchEnd> {
    const { job, signal } = inHand;
    const id = queued.destination;
    const found = this.parts.destinations.known(id) ?? (await this.lookUp(id, inHand));
    const destination = this.destinationOrEnd(queued, found);
    if ('kind' in destination) return destination;
    const now = Date.now();
    // Otherwise a crash between writing the last attempt and putting the job back would retry at once.
    if (queued.notBefore !== undefined && queued.notBefore > now) {
      return { kind: 'putBack', batch: queued, destination, until: queued.notBefore };
    }
    const firstAttemptAt = resumedWindow(queued, destination, this.parts.scheduler.running.time, now);
    const tried = { firstAttemptAt, retryWindow: destination.retryWindow, startedAt: now };
    const isLast = now >= lastAttemptAt(tried);
    const open = openMessages(queued);
    const known = isLast
      ? lastResultsOf(open, destination, firstAttemptAt, now)
      : this.deferredBy(open, destination, now);
    if (known !== undefined) {
      const settlement = this.settle(destination, { ...tried, messages: open, results: known }, now);
      return { kind: 'settled', queued, batch: queued, destination, settlement };
    }
    const atOnce = messagesAtOnce(destination);
    const delay = this.parts.scheduler.delayOf(destination, Math.min(open.length, atOnce));
    if (delay > 0) return { kind: 'putBack', batch: queued, destination, until: now + delay };
    const isTooLarge = open.length > atOnce;
    if (isTooLarge && divide === undefined)
      return { kind: 'putBack', batch: queued, destination, until: now };
    const { deleted, scheduler } = this.parts;
    let batch = isTooLarge ? deleted.leftOf(queued, job) : deleted.beforeAttempt(queued, job);
    if (batch instanceof Promise) {
      batch = await batch;
      // Others may have taken its place meanwhile.
      const again = scheduler.delayOf(destination, Math.min(open.length, atOnce));
      if (again > 0) return { kind: 'putBack', batch: queued, destination, until: Date.now() + again };
    }
    const { first, rest } = isTooLarge ? divided(batch, destination, now) : { first: batch, rest: [] };
    // All of its messages may have been about deleted users.
    const messages = openMessages(first);
    // Before the rest is put back: meanwhile others of its batches would be divided, too.
    const sent = scheduler.deliver(destination, messages, { isLast, firstAttemptAt, signal }, inHand);
    let results;
    try {
      if (rest.length > 0) await divide?.({ destination, queued, first, rest });
    } finally {
      results = await sent;
    }
    const held = rest.length > 0 ? first : queued;
    // It counts as never tried: its retries begin with the first attempt.
    if ('wait' in results) {
      return { kind: 'putBack', batch: held, destination, until: Date.now() + results.wait };
    }
    const settlement = this.settle(destination, { ...tried, messages, results }, Date.now());
    return { kind: 'settled', queued: held, batch: first, destination, settlement };
  }

  private settle(destination: Destination, tried: TriedBatch, now: number): BatchSettlement {
    const settlement = settleBatch(tried, now);
    this.parts.reporter.attempted(destination, settlement);
    return settlement;
  }

  /** The destination of a batch, or what becomes of the batch if it is not to be tried. */
  private destinationOrEnd(batch: QueuedBatch, found: FoundDestination): Destination | BatchEnd {
    const id = batch.destination;
    if (found === 'unavailable') {
      return { kind: 'postponed', batch, until: this.looks.next(id, Date.now()) };
    }
    if (found === 'later') return { kind: 'postponed', batch, until: Date.now() + LOOK_AGAIN_AFTER };
    if (found === 'deleted') return { kind: 'dropped', batch };
    if (found === undefined) {
      return { kind: 'notKnown', batch, error: DestinationNotFoundError.inJob(id) };
    }
    if (!this.parts.queue.isOwn(batch))
      return { kind: 'notKnown', batch, error: new OtherApplicationError(id) };
    if (found instanceof InvalidDestinationError) return { kind: 'refused', batch, error: found };
    if (found.isDisabled === true) {
      return { kind: 'refused', batch, error: new DestinationDisabledError(found.id) };
    }
    return found;
  }

  private async lookUp(id: string, job: SizedJob): Promise<FoundDestination> {
    const look = this.found(id);
    if (this.lookedUpFor.total > this.parts.maxLookedUpFor) return Promise.race([look, nextTurn()]);
    this.lookedUpFor.add(job);
    try {
      return await look;
    } finally {
      this.lookedUpFor.remove(job);
    }
  }

  private async found(id: string): Promise<FoundDestination> {
    try {
      return await this.parts.destinations.lookUp(id);
    } catch (error) {
      // The next look would find the same, until somebody puts it right.
      if (error instanceof InvalidDestinationError) return error;
      this.parts.reporter.notLookedUp(id, error);
      return 'unavailable';
    }
  }

  /** The results of messages that all URLs hold back which they have left; `undefined` if one may be sent. */
  private deferredBy(
    messages: readonly BatchMessage[],
    destination: Destination,
    now: number,
  ): DeliveryResult[] | undefined {
    if (messages.length === 0) return undefined;
    let heldBack = Infinity;
    for (const message of messages) {
      heldBack = Math.min(heldBack, destination.heldBack(now, refusedUrls(message)));
      if (heldBack === 0) return undefined;
    }
    const wait = this.parts.scheduler.lookAgainAfter(destination, heldBack);
    return messages.map(({ outcomes }) => ({ class: 'deferred', outcomes, wait }));
  }
}

/** By then, a destination that is remembered is found: its job need not go back. */
function nextTurn(): Promise<'later'> {
  return new Promise((resolve) => {
    setImmediate(resolve, 'later');
  });
}

/** The results of messages whose last attempt others have made for them; `undefined` when one has to be sent. */
function lastResultsOf(
  messages: readonly BatchMessage[],
  destination: Destination,
  firstAttemptAt: number,
  now: number,
): DeliveryResult[] | undefined {
  const results: DeliveryResult[] = [];
  for (const message of messages) {
    const result = destination.lastResult(message, firstAttemptAt, now);
    if (result === undefined) return undefined;
    results.push(result);
  }
  return results;
}
