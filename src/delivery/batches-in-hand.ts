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
  /** Batches with unsent messages, in order. */
  private readonly batches: HeldBatch[] = [];
  /** When the last batch was settled, by `performance.now()`. */
  private activeAt = performance.now();

  /** The batch whose messages are sent next. */
  get next(): HeldBatch | undefined {
    return this.batches[0];
  }

  /** Returns the milliseconds since the last batch was settled; 0 while a batch is in hand. */
  idleFor(now: number): number {
    return this.count > 0 ? 0 : now - this.activeAt;
  }

  add(batch: HeldBatch): void {
    this.count++;
    this.messages += batch.unsent;
    this.unsent += batch.unsent;
    this.batches.push(batch);
  }

  /** Takes the messages of the next batch's next request. Returns them and the index of the first in the batch. */
  take(batch: HeldBatch, limits: RequestLimits): { first: number; messages: readonly QueuedMessage[] } {
    const taken = batch.take(limits);
    this.unsent -= taken.messages.length;
    if (batch.unsent === 0) this.batches.shift();
    return taken;
  }

  /** Takes out the batches with unsent messages. The caller settles these messages; none is sent any more. */
  takeAll(): HeldBatch[] {
    this.unsent = 0;
    return this.batches.splice(0);
  }

  /** Counts messages of a batch as settled. Returns whether the whole batch is settled now. */
  settle(batch: HeldBatch, messages: number): boolean {
    this.messages -= messages;
    if (!batch.settle(messages)) return false;
    this.count--;
    this.activeAt = performance.now();
    return true;
  }
}
