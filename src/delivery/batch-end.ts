import type { Destination } from '../destinations/destination.js';
import type { AnalyticsError } from '../errors/analytics.error.js';
import type { DestinationNotFoundError, OtherApplicationError } from '../errors/delivery.errors.js';
import type { QueuedBatch } from '../queue/batch-job.js';
import type { BatchSettlement } from './batch-settlement.js';

/** What became of a batch that a worker took from the queue. */
export type BatchEnd =
  /** The messages of the batch were tried, or put off because their URLs are held back. */
  | {
      kind: 'settled';
      /** The batch as the queue holds it. */
      queued: QueuedBatch;
      /** The batch without messages about users who were deleted meanwhile. */
      batch: QueuedBatch;
      destination: Destination;
      settlement: BatchSettlement;
    }
  /** The batch goes back to the queue unchanged until this moment, in milliseconds since the epoch. */
  | { kind: 'putBack'; batch: QueuedBatch; destination: Destination; until: number }
  /** This process has no destination with that id, or the batch is another application's. */
  | { kind: 'notKnown'; batch: QueuedBatch; error: DestinationNotFoundError | OtherApplicationError }
  /** The destination cannot be looked up before this moment, in milliseconds since the epoch. */
  | { kind: 'postponed'; batch: QueuedBatch; until: number }
  /** The destination is disabled or has wrong fields, so the messages are kept as failed. */
  | { kind: 'refused'; batch: QueuedBatch; error: AnalyticsError }
  /** The destination was deleted, so nobody wants the messages. */
  | { kind: 'dropped'; batch: QueuedBatch };
