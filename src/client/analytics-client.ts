import { randomUUID } from 'node:crypto';
import { AnalyticsClosedError } from '../errors/analytics-closed.error.js';
import { MessageRefusedError } from '../errors/message-refused.error.js';
import { checkMessage } from '../messages/check-message.js';
import { createMessage } from '../messages/create-message.js';
import { objectOf } from '../messages/message-checks.js';
import type { DeleteParams, MessageParams } from '../messages/message-params.types.js';
import type { JsonObject, MessageType } from '../messages/message.types.js';
import type { FlushOptions, FlushResult } from './flush-result.js';
import type { Lane } from './lane.js';
import { MessageGate, type MessageGateOptions } from './message-gate.js';
import {
  MessagePipeline,
  type MessagePipelineObserver,
  type MessagePipelineOptions,
} from './message-pipeline.js';
import type { JobSink } from './outbox.js';
import type { SourceUsage } from './source-usage.js';
import { FlushGroup } from './taken-message.js';

export interface AnalyticsClientOptions extends MessagePipelineOptions, MessageGateOptions {
  /** Merged under every message's context. */
  context: JsonObject;
  /** Merged over `context`: what is known where the call is made, such as the request being handled. */
  callContext?: () => JsonObject | undefined;
  /** Told the user of every deletion that was taken. */
  onDeletion?: (userId: string) => void;
}

/** Tells what a call cannot tell by throwing. */
export interface ClientObserver extends MessagePipelineObserver {
  /** A message was not taken; told for each, to be logged once. */
  onRefused(reason: string): void;
}

/** The hall behind every door: makes messages of calls, and sees to it that what it took gets into the queue. */
export class AnalyticsClient {
  private readonly gate: MessageGate;
  private readonly pipeline: MessagePipeline;
  private closed = false;

  /** @param lanes a source without one drops what it takes */
  constructor(
    lanes: readonly Lane[],
    sink: JobSink,
    private readonly options: AnalyticsClientOptions,
    observer: ClientObserver,
  ) {
    this.gate = new MessageGate(options, (reason) => {
      observer.onRefused(reason);
    });
    this.pipeline = new MessagePipeline(lanes, sink, options, observer);
  }

  /**
   * Takes one call: checks, stamps, routes and serialises it, and returns its messageId at once.
   *
   * @throws InvalidMessageError, MessageTooLargeError, AnalyticsClosedError, EventViolationError
   */
  take<T extends MessageType>(source: string, type: T, params: MessageParams[T]): string {
    if (this.closed) throw new AnalyticsClosedError();
    const message = createMessage(type, params, this.contextOfCall());
    const finished = this.gate.pass(message);
    if (finished !== null && !this.pipeline.take(source, finished)) {
      this.gate.refuse('the buffer is full while the queue cannot take more');
    }
    if (finished?.type === 'delete') this.options.onDeletion?.(finished.userId);
    return (finished ?? message).messageId;
  }

  /**
   * Takes a message that another program has sent, by the same checks and the same way.
   *
   * @param group the messages that are waited for together
   * @returns `false` when there is no room for it: its sender still has it
   * @throws InvalidMessageError, MessageTooLargeError, AnalyticsClosedError, EventViolationError
   */
  takeReceived(source: string, fields: JsonObject, group: FlushGroup): boolean {
    if (this.closed) throw new AnalyticsClosedError();
    const message = checkMessage({
      ...fields,
      messageId: fields.messageId ?? randomUUID(),
      context: { ...this.options.context, ...objectOf(fields, 'context') },
    });
    const finished = this.gate.pass(message);
    return finished === null || this.pipeline.take(source, finished, group);
  }

  /** Flushes at once; resolves to whether all of a group was in the queue before the timeout. */
  handOver(group: FlushGroup, timeout: number): Promise<boolean> {
    return this.pipeline.drainWithin(timeout, group);
  }

  /**
   * Takes calls one after the other, and resolves once all of them are in the queue. Where there is no
   * room it waits, and it fills half of the buffer only, so that calls from elsewhere still find theirs.
   * What is known where the call is made is left out: these are calls about others.
   *
   * @throws as `take`; MessageRefusedError for a message that would only be counted there, and
   *   AnalyticsClosedError when the application shuts down before all are in the queue
   */
  async takeAll<T extends MessageType>(
    source: string,
    type: T,
    calls: Iterable<MessageParams[T]>,
  ): Promise<void> {
    const group = new FlushGroup();
    for (const params of calls) {
      if (this.closed) throw new AnalyticsClosedError();
      const refused = this.gate.count;
      const message = this.gate.pass(createMessage(type, params, this.options.context));
      if (this.gate.count > refused) throw new MessageRefusedError(this.gate.latestReason);
      if (message !== null) await this.pipeline.takeWhenRoom(source, message, group);
    }
    await this.pipeline.drain(group);
  }

  /** Takes a deletion: one message for each of the sources that lead anywhere. Returns the first one's id. */
  takeDeletion(sources: readonly [string, ...string[]], params: DeleteParams): string {
    const affected = sources.filter((source) => this.pipeline.leads(source));
    const [first = sources[0], ...others] = affected;
    const messageId = this.take(first, 'delete', params);
    for (const source of others) this.take(source, 'delete', params);
    if (this.pipeline.forwards) {
      this.gate.refuse(
        'a deletion cannot be forwarded by a write key, so call `delete()` in the application behind `endpoint`',
      );
    }
    return messageId;
  }

  /** What a source has taken since the start. */
  usageOf(source: string): SourceUsage {
    return this.pipeline.usageOf(source);
  }

  /** Resolves when all that was taken before the call is in the queue, or after the timeout. */
  async flush({ timeout }: FlushOptions = {}): Promise<FlushResult> {
    const { queued, pending } = await this.pipeline.flush(timeout);
    return { queued, refused: this.gate.takeCount(), pending };
  }

  /**
   * The application is shutting down: from now on messages go to the queue without waiting for others,
   * and no flush, not even one that set no timeout, waits for longer than `patience` milliseconds.
   */
  passThrough(patience: number): void {
    this.pipeline.passThrough(patience);
  }

  /**
   * Refuses further calls, hands what was taken to the queue within the timeout, and gives up the rest.
   * Returns the number of messages that were given up.
   */
  async close(timeout: number): Promise<number> {
    this.closed = true;
    await this.flush({ timeout });
    return this.pipeline.giveUp();
  }

  private contextOfCall(): JsonObject {
    const known = this.options.callContext?.();
    return known === undefined ? this.options.context : { ...this.options.context, ...known };
  }
}
