import type { QueuedMessage } from '../queue/batch-job.js';
import type { HeldBatch, RequestLimits } from './held-batch.js';

/** The batches of one destination that this process has in hand. */
export class BatchesInHand {
  /** Batches that are not settled. */
  count = 0;
  /** Messages that are not settled. */
  messages = 0;
  /** Messages that have not been sent. */
  unsent = 0;
  /** Those with messages that have not been sent, in order. */
  private readonly batches: HeldBatch[] = [];
  /** When the last one was settled, by `performance.now()`. */
  private activeAt = performance.now();

  /** The batch whose messages are sent next. */
  get next(): HeldBatch | undefined {
    return this.batches[0];
  }

  /** Milliseconds since there was one. */
  idleFor(now: number): number {
    return this.count > 0 ? 0 : now - this.activeAt;
  }

  add(batch: HeldBatch): void {
    this.count++;
    this.messages += batch.unsent;
    this.unsent += batch.unsent;
    this.batches.push(batch);
  }

  /** The messages of the next request of the next batch, and where in the batch they begin. */
  take(batch: HeldBatch, limits: RequestLimits): { first: number; messages: readonly QueuedMessage[] } {
    const taken = batch.take(limits);
    this.unsent -= taken.messages.length;
    if (batch.unsent === 0) this.batches.shift();
    return taken;
  }

  /** Takes those out that have messages to send. These are to be settled, and none of them is sent any more. */
  takeAll(): HeldBatch[] {
    this.unsent = 0;
    return this.batches.splice(0);
  }

  /** So many messages of a batch are settled. Returns whether all of them are now. */
  settle(batch: HeldBatch, messages: number): boolean {
    this.messages -= messages;
    if (!batch.settle(messages)) return false;
    this.count--;
    this.activeAt = performance.now();
    return true;
  }
}
