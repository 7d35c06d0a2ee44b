import type { DeliveryResult, QueuedMessage } from '../destination.js';

/** Called once; with `undefined` when the signal ended the message before it was settled. */
export type SettleMessage = (result: DeliveryResult | undefined) => void;

/** The messages of a batch, each to be begun when there is room for it, in their order. */
export interface BatchDelivery {
  readonly messages: readonly QueuedMessage[];
  begin(message: QueuedMessage, settle: SettleMessage): void;
  /** Called whenever one of them is settled. */
  onSettled(): void;
}

/** Messages that a destination gets at once when nothing is on its way to it. */
const FIRST_WINDOW = 4;

interface Batch {
  readonly delivery: BatchDelivery;
  readonly results: (DeliveryResult | undefined)[];
  /** Index of the next message to begin with. */
  next: number;
  unsettled: number;
  readonly resolve: (results: (DeliveryResult | undefined)[]) => void;
}

/**
 * Has a bounded number of a destination's messages on their way at once, batches in the order in which they
 * came. What waits here has no request yet: hundreds of batches cost little more than their text, and the
 * first of them is done with before the last begins. The bound is small at first and grows with what is
 * delivered, so that a few messages do not open a socket each, and a receiver that is slow is not flooded.
 */
export class DeliveryWindow {
  private readonly waiting: Batch[] = [];
  /** Messages that may be on their way now. */
  private open: number;
  private underway = 0;
  private isAdvancing = false;

  /** @param size messages that may be on their way: more than there are connections would only wait for one */
  constructor(private readonly size: number) {
    this.open = Math.min(FIRST_WINDOW, size);
  }

  /** Resolves to what each message came to, in their order. */
  deliver(delivery: BatchDelivery): Promise<(DeliveryResult | undefined)[]> {
    const size = delivery.messages.length;
    if (size === 0) return Promise.resolve([]);
    return new Promise((resolve) => {
      const results = new Array<DeliveryResult | undefined>(size).fill(undefined);
      this.waiting.push({ delivery, results, next: 0, unsettled: size, resolve });
      this.advance();
    });
  }

  private advance(): void {
    // A message that is settled at once comes back here from within: the loop below goes on with the next.
    if (this.isAdvancing) return;
    this.isAdvancing = true;
    for (
      let batch = this.waiting[0];
      batch !== undefined && this.underway < this.open;
      batch = this.waiting[0]
    ) {
      const { messages } = batch.delivery;
      const index = batch.next++;
      const message = messages[index];
      if (batch.next === messages.length) this.waiting.shift();
      if (message !== undefined) this.start(batch, message, index);
    }
    this.isAdvancing = false;
  }

  private start(batch: Batch, message: QueuedMessage, index: number): void {
    this.underway++;
    batch.delivery.begin(message, (result) => {
      this.underway--;
      batch.results[index] = result;
      this.adapt(result);
      batch.delivery.onSettled();
      if (--batch.unsettled === 0) batch.resolve(batch.results);
      this.advance();
    });
  }

  /** Opens with every message that is taken, and begins anew when nothing is left to do. */
  private adapt(result: DeliveryResult | undefined): void {
    if (this.underway === 0 && this.waiting.length === 0) this.open = Math.min(FIRST_WINDOW, this.size);
    else if (result?.class === 'delivered' && this.open < this.size) this.open++;
  }
}
