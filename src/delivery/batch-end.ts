import type { Destination } from '../destinations/destination.js';
import type { AnalyticsError } from '../errors/analytics.error.js';
import type { DestinationNotFoundError, OtherApplicationError } from '../errors/delivery.errors.js';
import type { QueuedBatch } from '../queue/batch-job.js';
import type { BatchSettlement } from './batch-settlement.js';

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
