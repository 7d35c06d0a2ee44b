import type { DeliveryResult, Destination, SettleMessages } from '../../src/destinations/destination.js';
import type { OutcomeClass, QueuedMessage } from '../../src/queue/batch-job.js';

/** A request that was handed to a destination. */
interface Request {
  messages: readonly QueuedMessage[];
  settle: SettleMessages;
  answered: ((origin: string) => void) | undefined;
}

/** A destination whose requests the test answers. */
export class TestDestination implements Destination {
  readonly name = 'Webhooks';
  readonly retryWindow = 60_000;
  readonly origins: readonly string[];
  /** Requests in flight. */
  readonly requests: Request[] = [];
  wait = 0;
  /** Value of `wait` for a message that one of its URLs has refused. */
  waitOfRefused: number | undefined;

  constructor(
    readonly id: string,
    {
      origins = [`https://${id}.example.com`],
      requestSize = 1,
      rateLimit,
    }: { origins?: string[]; requestSize?: number; rateLimit?: number } = {},
    public answersAtOnce?: DeliveryResult['class'],
  ) {
    this.origins = origins;
    this.requestSize = requestSize;
    this.rateLimit = rateLimit;
  }

  readonly requestSize: number;
  readonly rateLimit: number | undefined;

  origin(): string {
    return this.origins[0] ?? '';
  }

  heldBack(_now: number, refusedBy: readonly string[]): number {
    return refusedBy.length > 0 ? (this.waitOfRefused ?? this.wait) : this.wait;
  }

  lastResult(): undefined {
    return undefined;
  }

  deliver(
    messages: readonly QueuedMessage[],
    _terms: unknown,
    settle: SettleMessages,
    answered?: (origin: string) => void,
  ): void {
    if (this.answersAtOnce === undefined) this.requests.push({ messages, settle, answered });
    else settle(messages.map(() => ({ class: this.answersAtOnce ?? 'delivered', outcomes: [] })));
  }

  /** Answers the oldest requests in flight. */
  answer(count = this.requests.length, outcome: OutcomeClass = 'delivered'): void {
    for (const { messages, settle } of this.requests.splice(0, count)) {
      settle(messages.map(() => ({ class: outcome, outcomes: [] })));
    }
  }
}

export function messagesOf(count: number): QueuedMessage[] {
  return Array.from({ length: count }, (_, n) => ({ id: `m-${n}`, body: '{}', outcomes: [] }));
}
