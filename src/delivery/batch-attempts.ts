import type { DeliveryAttempt, Destination } from '../destinations/destination.js';
import type { QueuedBatch } from '../queue/batch-job.js';
import { type BatchSettlement, settleBatch } from './batch-settlement.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import type { DeliverySlot, DeliverySlots } from './delivery-slots.js';
import { lastAttemptAt } from './retry-policy.js';

/** Tries batches, each in a slot of this process. */
export class BatchAttempts {
  constructor(
    private readonly slots: DeliverySlots,
    private readonly reporter: DeliveryReporter,
  ) {}

  /**
   * Tries what is not settled of a batch; `undefined` when its destination hangs and has all in flight that
   * it may.
   */
  async make(
    batch: QueuedBatch,
    destination: Destination,
    signal: AbortSignal,
  ): Promise<BatchSettlement | undefined> {
    const slot = await this.slots.enter(batch.destination);
    if (slot === undefined) return undefined;
    try {
      return await this.deliver(batch, destination, slot, signal);
    } finally {
      slot.release();
    }
  }

  private async deliver(
    batch: QueuedBatch,
    destination: Destination,
    slot: DeliverySlot,
    signal: AbortSignal,
  ): Promise<BatchSettlement> {
    const startedAt = Date.now();
    const window = {
      firstAttemptAt: batch.firstAttemptAt ?? startedAt,
      retryWindow: destination.retryWindow,
    };
    const attempt: DeliveryAttempt = {
      isLast: startedAt >= lastAttemptAt(window),
      signal,
      onSettled: () => {
        slot.progress();
      },
    };
    const messages = batch.messages.filter((message) => message.failedAt === undefined);
    const results = await destination.deliver(messages, attempt);
    const settlement = settleBatch({ ...window, startedAt, messages, results }, Date.now());
    this.reporter.attempted(destination, settlement, startedAt);
    return settlement;
  }
}
