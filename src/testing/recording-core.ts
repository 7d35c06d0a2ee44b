import { NO_REFUSALS } from '../client/admission.js';
import type { MessageCore } from '../client/client-core.js';
import type { ClientCoreOptions, ClientCoreParts, Losses } from '../client/client-core.types.js';
import { OutgoingMessages, type OutgoingTerms } from '../client/outgoing-messages.js';
import { AnalyticsClosedError } from '../errors/message.errors.js';
import type { AnalyticsMessage } from '../messages/message.types.js';

/** Called with each message that a destination takes. */
export type RecordMessage = (message: AnalyticsMessage, source: string) => void;

type CoreParts = Pick<ClientCoreParts, 'router'>;
type CoreOptions = Pick<ClientCoreOptions, 'schemas' | 'body'>;

/**
 * Checks and routes messages as the core of the client does, and records them at once: without batches, a
 * buffer, a queue or a timer.
 */
export class RecordingCore implements MessageCore {
  readonly outgoing: OutgoingMessages;
  readonly size = 0;
  readonly buffered = { total: 0, free: Infinity };
  readonly isCrowded = false;
  readonly losses: Losses = { messages: 0, unrouted: 0, byDestination: new Map(), unconfirmed: 0 };
  private taken = 0;
  private flushed = 0;
  private isClosed = false;

  constructor(
    { router }: CoreParts,
    options: CoreOptions,
    private readonly record: RecordMessage,
  ) {
    this.outgoing = new OutgoingMessages(router, options);
  }

  assertOpen(): void {
    if (this.isClosed) throw new AnalyticsClosedError();
  }

  get last(): number {
    return this.taken;
  }

  isQueued(): boolean {
    return true;
  }

  isHalfFull(): boolean {
    return false;
  }

  handOver(): Promise<boolean> {
    return Promise.resolve(true);
  }

  withdraw(): boolean {
    return false;
  }

  take(source: string, message: AnalyticsMessage, terms?: OutgoingTerms): typeof NO_REFUSALS {
    this.assertOpen();
    const { route } = this.outgoing.of(source, message, terms);
    // A destination that has to be looked up first counts as taking the message.
    const known = 'connections' in route ? route : undefined;
    this.outgoing.taken(source, message, known);
    if (known?.connections.length === 0) return NO_REFUSALS;
    this.taken++;
    this.record(message, source);
    return NO_REFUSALS;
  }

  room(): Promise<boolean> {
    return Promise.resolve(true);
  }

  flush(): Promise<{ queued: number; pending: number }> {
    const queued = this.taken - this.flushed;
    this.flushed = this.taken;
    return Promise.resolve({ queued, pending: 0 });
  }

  drain(): void {
    // Nothing waits.
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}
