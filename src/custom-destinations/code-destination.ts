import { isMessageType } from '../messages/message-builders.js';
import type { JsonObject } from '../messages/message.types.js';
import { isJsonObject } from '../messages/value-kind.js';
import type { DeliveredMessage } from '../options/custom-destination.interface.js';
import type { ResolvedCustomDestination } from '../options/resolve-custom-destinations.js';
import { type QueuedMessage, sizeOfBodies, type UrlOutcome } from '../queue/batch-job.js';
import { type EndpointObserver, EndpointState } from '../webhooks/endpoint-state.js';
import type {
  AttemptTerms,
  DeliveryResult,
  Destination,
  SettleMessages,
} from '../destinations/destination.js';
import type { CallMemory } from './call-memory.js';
import { callDeliver, type CallEnd } from './delivery-call.js';
import { answersOf, type MessageAnswer } from './message-answers.js';

/** Answer for a message that this package did not write. The application's code is not asked to deliver it. */
const UNREADABLE: MessageAnswer = { class: 'permanent', error: 'INVALID_MESSAGE' };

/** Delivers messages through the application's own code. */
export class CodeDestination implements Destination {
  readonly id: string;
  readonly name: string;
  readonly retryWindow: number;
  readonly requestSize: number;
  readonly requestCharacters: number;
  readonly origins: readonly string[] = [];
  private readonly state: EndpointState;

  constructor(
    private readonly options: ResolvedCustomDestination,
    private readonly memory: CallMemory,
    observer?: EndpointObserver,
  ) {
    this.id = options.id;
    this.name = options.name;
    this.retryWindow = options.retryWindow;
    this.requestSize = options.batchSize;
    this.requestCharacters = memory.mostOfCall;
    const name = { destination: this.id, url: this.id, origin: this.name };
    this.state = new EndpointState(name, options.retryWindow, observer);
  }

  origin(): string {
    return this.name;
  }

  heldBack(now: number): number {
    return this.state.breaker.wait(now);
  }

  lastResult({ outcomes }: QueuedMessage, firstAttemptAt: number, now: number): DeliveryResult | undefined {
    const last = this.state.lastOutcome(outcomes[0], firstAttemptAt, now);
    return last && { class: 'retry', outcomes: [last] };
  }

  deliver(messages: readonly QueuedMessage[], terms: AttemptTerms, settle: SettleMessages): void {
    const call = (): ReturnType<CodeDestination['attempt']> => this.attempt(messages, terms);
    void this.memory.run(this.id, sizeOfBodies(messages), call).then(settle);
  }

  private async attempt(
    messages: readonly QueuedMessage[],
    { isLast, signal }: AttemptTerms,
  ): Promise<(DeliveryResult | undefined)[]> {
    const { breaker } = this.state;
    const startedAt = Date.now();
    if (!breaker.admit(startedAt, isLast)) {
      const wait = breaker.wait(startedAt);
      return messages.map(({ outcomes }) => ({ class: 'deferred', outcomes, wait }));
    }
    const attempt =
      Math.max(0, ...messages.flatMap(({ outcomes }) => outcomes.map((one) => one.attempt))) + 1;
    const read = messages.map(deliveredMessage);
    const readable = read.filter((message) => message !== undefined);
    // Read before the call: the application may sort or empty the list, or change the messages in it.
    const ids = readable.map(({ messageId }) => messageId);
    const end: CallEnd =
      readable.length === 0
        ? { kind: 'returned', value: undefined }
        : await callDeliver(this.options, readable, attempt, signal);
    if (end.kind === 'brokenOff') {
      breaker.recordNothing(startedAt);
      return messages.map(() => undefined);
    }
    const duration = Math.max(Date.now() - startedAt, 0);
    const told = answersOf(end, ids);
    const answers = read.map((message) =>
      message === undefined ? UNREADABLE : (told.shift() ?? UNREADABLE),
    );
    const outcomes = answers.map((answer): UrlOutcome => ({
      url: this.id,
      ...answer,
      attempt,
      at: startedAt,
      duration,
    }));
    this.record(outcomes, startedAt, end);
    return outcomes.map((outcome) => ({ class: outcome.class, outcomes: [outcome] }));
  }

  /** Records a call. The destination is up if it took or refused any message. Each further error is reported once. */
  private record(outcomes: readonly UrlOutcome[], startedAt: number, end: CallEnd): void {
    const best =
      outcomes.find((outcome) => outcome.class === 'delivered') ??
      outcomes.find((outcome) => outcome.class === 'permanent') ??
      outcomes[0];
    if (best === undefined) return;
    const { timeout } = this.options;
    this.state.record(best, startedAt, end.kind === 'threw' ? { timeout, thrown: end } : { timeout });
    const told = new Set([best.error]);
    for (const outcome of outcomes) {
      if (told.has(outcome.error)) continue;
      told.add(outcome.error);
      this.state.report(outcome);
    }
  }
}

/** Returns the message in a body as the application's code gets it, or `undefined` if this package did not write it. */
function deliveredMessage({ id, body }: QueuedMessage): DeliveredMessage | undefined {
  const fields = parse(body);
  if (fields === undefined || !isMessageType(fields.type)) return undefined;
  // The writer of a body with a known type has checked its other fields.
  return {
    ...withOwnNames(fields),
    context: fields.context ?? {},
    messageId: id,
  } as unknown as DeliveredMessage;
}

/** Returns the fields under the names that the application's code uses. A body has the names that webhooks get. */
function withOwnNames(fields: JsonObject): JsonObject {
  const named = { ...fields };
  delete named.version;
  if (fields.type !== 'alias') return named;
  const { 'Previous ID': previousId, 'User ID': userId, ...others } = named;
  return { ...others, previousId, userId };
}

function parse(body: string): JsonObject | undefined {
  try {
    const message: unknown = JSON.parse(body);
    return isJsonObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}
