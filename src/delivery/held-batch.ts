import type { AttemptTerms, DeliveryResult, Destination } from '../destinations/destination.js';
import type { QueuedMessage } from '../queue/batch-job.js';

/** What limits the messages of one request. */
export type RequestLimits = Pick<Destination, 'requestSize' | 'requestCharacters'>;

/** The result of each message of a batch, in their order; `undefined` if the attempt was broken off. */
export type BatchResults = (DeliveryResult | undefined)[];

/** Nothing of a batch was sent. It goes back to the queue as it was, for so many milliseconds. */
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

  /** @param onEnded called when all of its messages are settled, or went back to the queue */
  constructor(
    private readonly messages: readonly QueuedMessage[],
    readonly terms: AttemptTerms,
    private readonly onEnded: (end: BatchResults | GivenBack) => void,
  ) {
    this.results = new Array<DeliveryResult | undefined>(messages.length).fill(undefined);
    this.unsettled = messages.length;
  }

  /** How many of its messages have not been sent. */
  get unsent(): number {
    return this.messages.length - this.next;
  }

  /** The messages of the next request, and where they begin. */
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
    // By index: an iterator for each message costs more than the rest of this.
    for (let index = 0; index < results.length; index++) this.results[first + index] = results[index];
  }

  /**
   * The messages that have not been sent go back to the queue.
   *
   * @param wait milliseconds; `undefined` if the attempt is broken off
   */
  giveBack(wait?: number): void {
    if (this.next === 0) this.givenBack = { wait: wait ?? 0 };
    else if (wait !== undefined) this.deferUnsent(wait);
  }

  /** So many messages are settled. Returns whether all of them are now. */
  settle(messages: number): boolean {
    this.unsettled -= messages;
    return this.unsettled === 0;
  }

  /** Tells what became of it. */
  end(): void {
    this.onEnded(this.givenBack ?? this.results);
  }

  private deferUnsent(wait: number): void {
    for (const { outcomes } of this.messages.slice(this.next)) {
      this.results[this.next++] = { class: 'deferred', outcomes, wait };
    }
  }
}

/** The first messages, whose bodies have at most so many characters together, and one in any case. */
function firstWithin(messages: readonly QueuedMessage[], characters: number): readonly QueuedMessage[] {
  let size = 0;
  const end = messages.findIndex(({ body }, index) => (size += body.length) > characters && index > 0);
  return end === -1 ? messages : messages.slice(0, end);
}
