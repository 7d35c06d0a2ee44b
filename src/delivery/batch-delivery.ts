import type { DeletedUsers, QueuedJob } from '../deliveries/deleted-users.js';
import type { DeliveryResult, Destination } from '../destinations/destination.js';
import { type BatchMessage, openMessages, type QueuedBatch } from '../queue/batch-job.js';
import { BatchDestinations, type BatchDestinationsParts } from './batch-destinations.js';
import type { BatchEnd } from './batch-end.js';
import { type BatchSettlement, settleBatch, type TriedBatch } from './batch-settlement.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import type { DeliveryScheduler } from './delivery-scheduler.js';
import { messagesAtOnce } from './destination-pace.js';
import { divided, type Division } from './divided-batch.js';
import type { BatchResults } from './held-batch.js';
import type { SizedJob } from './job-sizes.js';
import { refusedUrls } from './refused-urls.js';
import { lastAttemptAt, resumedWindow } from './retry-policy.js';

/** The job that a batch is in. */
interface BatchInHand extends SizedJob {
  job: QueuedJob;
  signal: AbortSignal;
}

/** An attempt to deliver a batch, which begins now. */
interface Attempt extends Pick<TriedBatch, 'startedAt' | 'firstAttemptAt' | 'retryWindow'> {
  /** The batch as the queue holds it. */
  queued: QueuedBatch;
  destination: Destination;
  /** Messages of the batch that are not settled. */
  open: readonly BatchMessage[];
  isLast: boolean;
  /** Number of messages that are sent in this attempt. */
  atOnce: number;
  /** Whether the batch has more open messages than `atOnce`. */
  isTooLarge: boolean;
}

type Divide = (division: Division) => Promise<void>;

interface BatchDeliveryParts extends BatchDestinationsParts {
  scheduler: DeliveryScheduler;
  reporter: Pick<DeliveryReporter, 'attempted' | 'notLookedUp'>;
  deleted: DeletedUsers;
}

/** Decides what happens to a batch now, and has its messages sent when their turn comes. */
export class BatchDelivery {
  private readonly destinations: BatchDestinations;

  constructor(private readonly parts: BatchDeliveryParts) {
    this.destinations = new BatchDestinations(parts);
  }

  /**
   * @param divide leaves one part of a batch in its job, and puts the others back; `undefined` if the job has other batches.
   *   Then a batch that is too large is put back as a whole, in a job of its own.
   */
  async deliver(queued: QueuedBatch, inHand: BatchInHand, divide?: Divide): Promise<BatchEnd> {
    const found = this.destinations.of(queued, inHand);
    const destination = found instanceof Promise ? await found : found;
    if ('kind' in destination) return destination;
    const now = Date.now();
    // Without this, a crash between recording the last attempt and putting the job back would cause a retry at once.
    if (queued.notBefore !== undefined && queued.notBefore > now) {
      return { kind: 'putBack', batch: queued, destination, until: queued.notBefore };
    }
    const attempt = this.attemptOf(queued, destination, now);
    const end = this.endUnsent(attempt) ?? this.endUnlessItsTurn(attempt);
    if (end !== undefined) return end;
    if (attempt.isTooLarge && divide === undefined) {
      return { kind: 'putBack', batch: queued, destination, until: now };
    }
    const { deleted } = this.parts;
    const { job } = inHand;
    const left = attempt.isTooLarge ? deleted.leftOf(queued, job) : deleted.beforeAttempt(queued, job);
    if (!(left instanceof Promise)) return this.send(attempt, left, inHand, divide);
    const batch = await left;
    // Other batches may have taken the place of this batch meanwhile.
    return this.endUnlessItsTurn(attempt) ?? this.send(attempt, batch, inHand, divide);
  }

  private attemptOf(queued: QueuedBatch, destination: Destination, startedAt: number): Attempt {
    const firstAttemptAt = resumedWindow(queued, destination, this.parts.scheduler.running.time, startedAt);
    const { retryWindow } = destination;
    const open = openMessages(queued);
    const atOnce = messagesAtOnce(destination);
    return {
      queued,
      destination,
      open,
      startedAt,
      firstAttemptAt,
      retryWindow,
      isLast: startedAt >= lastAttemptAt({ firstAttemptAt, retryWindow }),
      atOnce: Math.min(open.length, atOnce),
      isTooLarge: open.length > atOnce,
    };
  }

  /** Returns the end of a batch if none of its messages is worth a request now, else `undefined`. */
  private endUnsent(attempt: Attempt): BatchEnd | undefined {
    const { queued, destination, open, startedAt, firstAttemptAt, isLast } = attempt;
    const results = isLast
      ? lastResultsOf(open, destination, firstAttemptAt, startedAt)
      : this.deferredBy(open, destination, startedAt);
    if (results === undefined) return undefined;
    const settlement = this.settle(attempt, open, results, startedAt);
    return { kind: 'settled', queued, batch: queued, destination, settlement };
  }

  /** Returns the end of a batch if this process has no place for it yet, else `undefined`. */
  private endUnlessItsTurn({ queued, destination, atOnce }: Attempt): BatchEnd | undefined {
    const delay = this.parts.scheduler.delayOf(destination, atOnce);
    if (delay <= 0) return undefined;
    return { kind: 'putBack', batch: queued, destination, until: Date.now() + delay };
  }

  /** @param batch without messages about users who were deleted meanwhile */
  private async send(
    attempt: Attempt,
    batch: QueuedBatch,
    inHand: BatchInHand,
    divide: Divide | undefined,
  ): Promise<BatchEnd> {
    const { queued, destination, isLast, firstAttemptAt, isTooLarge, startedAt } = attempt;
    const { first, rest } = isTooLarge ? divided(batch, destination, startedAt) : { first: batch, rest: [] };
    // May be empty: all messages may have been about deleted users.
    const messages = openMessages(first);
    const terms = { isLast, firstAttemptAt, signal: inHand.signal };
    // Begun before the rest is put back: otherwise other batches of the destination would be divided meanwhile, too.
    const sent = this.parts.scheduler.deliver(destination, messages, terms, inHand);
    let results;
    try {
      if (rest.length > 0) await divide?.({ destination, queued, first, rest });
    } finally {
      results = await sent;
    }
    const held = rest.length > 0 ? first : queued;
    // The batch counts as never tried: its retries begin with the first attempt.
    if ('wait' in results) {
      return { kind: 'putBack', batch: held, destination, until: Date.now() + results.wait };
    }
    const settlement = this.settle(attempt, messages, results, Date.now());
    return { kind: 'settled', queued: held, batch: first, destination, settlement };
  }

  private settle(
    { destination, startedAt, firstAttemptAt, retryWindow }: Attempt,
    messages: readonly BatchMessage[],
    results: BatchResults,
    now: number,
  ): BatchSettlement {
    const settlement = settleBatch({ startedAt, firstAttemptAt, retryWindow, messages, results }, now);
    this.parts.reporter.attempted(destination, settlement);
    return settlement;
  }

  /** Returns deferred results if all remaining URLs of all messages are held back, else `undefined`. */
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

/** Returns the results if the requests of others count as the last attempt of every message, else `undefined`. */
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
