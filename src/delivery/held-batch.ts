import type { AttemptTerms, DeliveryResult, Destination } from '../destinations/destination.js';
import type { QueuedMessage } from '../queue/batch-job.js';

/** Limits of the messages in one request. */
export type RequestLimits = Pick<Destination, 'requestSize' | 'requestCharacters'>;

/** The result of each message of a batch, in their order; `undefined` if the attempt was broken off. */
export type BatchResults = (DeliveryResult | undefined)[];

/** End of a batch of which nothing was sent. The batch goes back to the queue as it was, for `wait` milliseconds. */
export interface GivenBack {
  readonly wait: number;
}

/** A batch in hand. Its messages are sent in order, when it is the destination's turn. */
export class HeldBatch {
  private readonly results: BatchResults;
  /** Index of the next message to send. */
  private next = 0;
  private unsettled: number;
  private givenBack: GivenBack | undefined;

  /** @param onEnded called when all messages are settled, or the batch goes back to the queue */
  constructor(
    private readonly messages: readonly QueuedMessage[],
    readonly terms: AttemptTerms,
    private readonly onEnded: (end: BatchResults | GivenBack) => void,
  ) {
    this.results = new Array<DeliveryResult | undefined>(messages.length).fill(undefined);
    this.unsettled = messages.length;
  }

  /** Number of messages that have not been sent. */
  get unsent(): number {
    return this.messages.length - this.next;
  }

  /** Takes the messages of the next request. Returns them and the index of the first one. */
  take({ requestSize, requestCharacters }: RequestLimits): {
    first: number;
    messages: readonly QueuedMessage[];
  } {
    const first = this.next;
    const most = this.messages.slice(first, first + requestSize);
    const messages = requestCharacters === undefined ? most : firstWithin(most, requestCharacters);
    this.next += messages.length;
    return { first, messages };
  }

  record(first: number, results: Readonly<BatchResults>): void {
    // By index: an iterator for each message would cost more than the rest of this method.
    for (let index = 0; index < results.length; index++) this.results[first + index] = results[index];
  }

  /**
   * Gives the messages that have not been sent back to the queue.
   *
   * @param wait milliseconds until they are tried again; `undefined` if the attempt is broken off
   */
  giveBack(wait?: number): void {
    if (this.next === 0) this.givenBack = { wait: wait ?? 0 };
    else if (wait !== undefined) this.deferUnsent(wait);
  }

  /** Counts messages as settled. Returns whether all of them are now. */
  settle(messages: number): boolean {
    this.unsettled -= messages;
    return this.unsettled === 0;
  }

  /** Reports the end of the batch. */
  end(): void {
    this.onEnded(this.givenBack ?? this.results);
  }

  private deferUnsent(wait: number): void {
    for (const { outcomes } of this.messages.slice(this.next)) {
      this.results[this.next++] = { class: 'deferred', outcomes, wait };
    }
  }
}

/** Returns the first messages whose bodies have at most this many characters together, but at least one message. */
function firstWithin(messages: readonly QueuedMessage[], characters: number): readonly QueuedMessage[] {
  let size = 0;
  const end = messages.findIndex(({ body }, index) => (size += body.length) > characters && index > 0);
  return end === -1 ? messages : messages.slice(0, end);
}
