import type { DeliveryResult } from '../destinations/destination.js';
import type { BatchMessage, QueuedBatch } from '../queue/batch-job.js';
import { isLocalError } from '../webhooks/outcome-class.js';
import { lastAttemptAt, nextAttemptAt, unsentAttemptAt } from './retry-policy.js';

/** A batch after an attempt, before anything is decided about it. */
export interface TriedBatch {
  /** When the attempt began, in milliseconds since the epoch. */
  startedAt: number;
  firstAttemptAt: number;
  retryWindow: number;
  messages: readonly BatchMessage[];
  /** The result of each message, in their order; `undefined` if the attempt was broken off. */
  results: readonly (DeliveryResult | undefined)[];
}

/** What became of a batch: its messages, sorted by what happens next. */
export interface BatchSettlement {
  firstAttemptAt: number;
  delivered: BatchMessage[];
  /** Messages to try again, with what the URLs answered so far. */
  retried: BatchMessage[];
  /** Messages that could not be tried, since their URLs are held back. */
  deferred: BatchMessage[];
  /** Messages that failed for good in this attempt. */
  failed: BatchMessage[];
  /** Messages whose attempt was broken off before they were settled. */
  unsettled: BatchMessage[];
  /** When the retried and deferred messages are due, in milliseconds since the epoch; `undefined` if there are none. */
  dueAt: number | undefined;
}

/** Sorts the messages of a batch after an attempt, and computes the time of the next one. */
export function settleBatch(attempt: TriedBatch, now: number): BatchSettlement {
  const settlement: BatchSettlement = {
    firstAttemptAt: attempt.firstAttemptAt,
    delivered: [],
    retried: [],
    deferred: [],
    failed: [],
    unsettled: [],
    dueAt: undefined,
  };
  /** Messages with a request that the signal ended. */
  const brokenOff: BatchMessage[] = [];
  let retryAfter: number | undefined;
  let wait = Infinity;
  let index = 0;
  for (const message of attempt.messages) {
    const result = attempt.results[index++];
    if (result === undefined) {
      settlement.unsettled.push(message);
      continue;
    }
    const settled: BatchMessage = { id: message.id, body: message.body, outcomes: result.outcomes };
    if (message.tenant !== undefined) settled.tenant = message.tenant;
    if (message.call !== undefined) settled.call = message.call;
    if (result.class === 'delivered') settlement.delivered.push(settled);
    else if (result.class === 'permanent') settlement.failed.push({ ...settled, failedAt: now });
    else if (result.class === 'deferred') {
      settlement.deferred.push(settled);
      wait = Math.min(wait, result.wait ?? 0);
    } else {
      (result.isBrokenOff === true ? brokenOff : settlement.retried).push(settled);
      if (result.retryAfter !== undefined) retryAfter = Math.max(retryAfter ?? 0, result.retryAfter);
    }
  }
  if (settlement.delivered.length === attempt.messages.length) return settlement;
  const retryAt = scheduleRetries(settlement, attempt, now, retryAfter);
  settlement.retried.push(...brokenOff);
  const last = lastAttemptAt(attempt);
  const deferredAt = Math.min(deferredUntil(attempt, now, wait), last);
  const brokenOffAt = Math.min(now + (retryAfter ?? 0), last);
  const times = [
    ...(retryAt === undefined ? [] : [retryAt]),
    ...(settlement.deferred.length > 0 ? [Math.max(deferredAt, now + 1)] : []),
    ...(brokenOff.length > 0 ? [Math.max(brokenOffAt, now + 1)] : []),
  ];
  // The latest of these, so that `Retry-After` holds for all.
  if (times.length > 0) settlement.dueAt = Math.max(...times);
  return settlement;
}

/** Returns what is left of a batch after an attempt: the messages to try again, and those that failed for good. */
export function leftOf(batch: QueuedBatch, settlement: BatchSettlement): QueuedBatch | undefined {
  const { delivered, unsettled, retried, deferred, failed, firstAttemptAt, dueAt } = settlement;
  if (delivered.length === batch.messages.length) return undefined;
  const failedBefore = batch.messages.filter((message) => message.failedAt !== undefined);
  const messages = [...unsettled, ...retried, ...deferred, ...failedBefore, ...failed];
  if (messages.length === 0) return undefined;
  const { destination, source, marks } = batch;
  // Messages that were only held back may return early, when their URLs take messages again.
  const isTimed = dueAt !== undefined && retried.length > 0;
  return {
    ...{ destination, source, firstAttemptAt, messages },
    ...(marks !== undefined && { marks }),
    ...(isTimed && { notBefore: dueAt }),
  };
}

/**
 * Computes when the retried messages are due. If their window is over, moves the messages whose last attempt has left
 * this process to the failed ones.
 */
function scheduleRetries(
  settlement: BatchSettlement,
  attempt: TriedBatch,
  now: number,
  retryAfter: number | undefined,
): number | undefined {
  if (settlement.retried.length === 0) return undefined;
  const attempts = settlement.retried.flatMap(({ outcomes }) => outcomes.map((outcome) => outcome.attempt));
  const state = { ...attempt, attempt: Math.max(...attempts), now, retryAfter };
  const retryAt = nextAttemptAt(state);
  if (retryAt !== undefined) return retryAt;
  const unsentAt = unsentAttemptAt(state);
  const { retried } = settlement;
  settlement.retried = [];
  for (const message of retried) {
    if (unsentAt !== undefined && isUnsent(message)) settlement.retried.push(message);
    else settlement.failed.push({ ...message, failedAt: now });
  }
  return settlement.retried.length > 0 ? unsentAt : undefined;
}

/** Whether one of the URLs that a message has left was not even asked, for a reason in this process. */
function isUnsent({ outcomes }: BatchMessage): boolean {
  return outcomes.some((outcome) => outcome.class === 'retry' && isLocalError(outcome.error));
}

/**
 * Returns when a deferred batch is due again: not before its URLs may be tried, and less often the older the batch is,
 * so that a large backlog costs little while it waits.
 */
function deferredUntil({ firstAttemptAt, retryWindow }: TriedBatch, now: number, wait: number): number {
  const patience = Math.min((now - firstAttemptAt) / 4, retryWindow / 48);
  return now + Math.ceil(Math.max(wait, patience) * (1 + 0.2 * Math.random()));
}
