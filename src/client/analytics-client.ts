import { randomUUID } from 'node:crypto';
import debugFactory from 'debug';
import { AnalyticsClosedError } from '../errors/analytics-closed.error.js';
import { MessageRefusedError } from '../errors/message-refused.error.js';
import { checkMessage } from '../messages/check-message.js';
import { createMessage } from '../messages/create-message.js';
import { objectOf } from '../messages/message-checks.js';
import type { DeleteParams, MessageParams } from '../messages/message-params.types.js';
import type { AnalyticsMessage, JsonObject, MessageType } from '../messages/message.types.js';
import { Backlog } from './backlog.js';
import type { FlushOptions, FlushResult } from './flush-result.js';
import type { Lane } from './lane.js';
import { type FlushRules, MessageBuffer } from './message-buffer.js';
import { type JobSink, Outbox } from './outbox.js';
import { MessageGate, type MessageGateOptions } from './message-gate.js';
import { Routes, type RoutesOptions } from './routes.js';
import type { SourceUsage } from './source-usage.js';
import { FlushGroup, type TakenMessage } from './taken-message.js';

const debug = debugFactory('analytics');

export interface AnalyticsClientOptions extends FlushRules, RoutesOptions, MessageGateOptions {
  /** Merged under every message's context. */
  context: JsonObject;
  /** Bound of all that is taken and not in the queue yet, in bytes of bodies. */
  maxBufferedBytes: number;
  /** Merged over `context`: what is known where the call is made, such as the request being handled. */
  callContext?: () => JsonObject | undefined;
  /** Told the user of every deletion that was taken. */
  onDeletion?: (userId: string) => void;
}

/** Tells what a call cannot tell by throwing. */
export interface ClientObserver {
  /** A message was not taken; told for each, to be logged once. */
  onRefused(reason: string): void;
  /** An add to the queue failed and will be repeated. */
  onAddFailed(error: unknown): void;
  /** Everything that was taken is in the queue. */
  onDrained(): void;
}

/** The hall behind every door: takes calls, and sees to it that what it took gets into the queue. */
export class AnalyticsClient {
  private readonly routes: Routes;
  private readonly outbox: Outbox;
  private readonly rules: FlushRules;
  private readonly backlog: Backlog;
  private readonly gate: MessageGate;
  private closed = false;

  /** @param lanes by the name of their source; a source without an entry drops what it takes */
  constructor(
    lanes: readonly Lane[],
    sink: JobSink,
    private readonly options: AnalyticsClientOptions,
    private readonly observer: ClientObserver,
  ) {
    this.backlog = new Backlog(options.maxBufferedBytes);
    this.gate = new MessageGate(options, (reason) => {
      observer.onRefused(reason);
    });
    this.rules = { flushAt: options.flushAt, flushAfter: options.flushAfter };
    this.outbox = new Outbox(sink, this.settle, (error) => {
      observer.onAddFailed(error);
    });
    const send = (lane: Lane, messages: TakenMessage[]): void => {
      debug('flushed %d messages of %s for %s', messages.length, lane.source, lane.destination);
      this.outbox.send(lane, messages);
    };
    this.routes = new Routes(
      lanes.map((lane) => ({ lane, buffer: new MessageBuffer(lane, this.rules, send) })),
      options,
    );
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
    if (finished !== null && !this.route(source, finished, this.backlog.group)) {
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
    return finished === null || this.route(source, finished, group);
  }

  /** Flushes at once; resolves to whether all of a group was in the queue before the timeout. */
  handOver(group: FlushGroup, timeout: number): Promise<boolean> {
    this.flushNow();
    return this.backlog.drainedOf(group, timeout);
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
      if (message !== null) await this.routeWithRoom(source, message, group);
    }
    this.flushNow();
    while (group.size > 0) await this.backlog.nextRemoved();
  }

  /** Takes a deletion: one message for each of the sources that lead anywhere. Returns the first one's id. */
  takeDeletion(sources: readonly [string, ...string[]], params: DeleteParams): string {
    const affected = sources.filter((source) => this.routes.has(source));
    const [first = sources[0], ...others] = affected;
    const messageId = this.take(first, 'delete', params);
    for (const source of others) this.take(source, 'delete', params);
    if (this.routes.forwards) {
      this.gate.refuse(
        'a deletion cannot be forwarded by a write key, so call `delete()` in the application behind `endpoint`',
      );
    }
    return messageId;
  }

  /** What a source has taken since the start. */
  usageOf(source: string): SourceUsage {
    return { ...this.routes.usageOf(source) };
  }

  /** Resolves when all that was taken before the call is in the queue, or after the timeout. */
  async flush({ timeout }: FlushOptions = {}): Promise<FlushResult> {
    this.flushNow();
    const { queued, pending } = await this.backlog.drained(timeout);
    return { queued, refused: this.gate.takeCount(), pending };
  }

  /**
   * The application is shutting down: from now on messages go to the queue without waiting for others,
   * and no flush, not even one that set no timeout, waits for longer than `patience` milliseconds.
   */
  passThrough(patience: number): void {
    this.rules.flushAt = 1;
    this.flushNow();
    setTimeout(this.backlog.giveUp, patience).unref();
  }

  /**
   * Refuses further calls, hands what was taken to the queue within the timeout, and gives up the rest.
   * Returns the number of messages that were given up.
   */
  async close(timeout: number): Promise<number> {
    this.closed = true;
    await this.flush({ timeout });
    this.outbox.close();
    this.backlog.giveUp();
    return this.backlog.size;
  }

  /** Hands over what waits for a batch to fill, without waiting for more. */
  private flushNow(): void {
    this.routes.flush();
    this.outbox.hurry();
  }

  private contextOfCall(): JsonObject {
    const known = this.options.callContext?.();
    return known === undefined ? this.options.context : { ...this.options.context, ...known };
  }

  /** Brings a message on its way; `false` when the buffer has no room for it. */
  private route(source: string, message: AnalyticsMessage, group: FlushGroup): boolean {
    const { lanes, serialized, isFiltered } = this.routes.of(source, message);
    const { json: body, bytes } = serialized;
    if (!this.backlog.hasRoomFor(bytes * lanes.length)) return false;
    const usage = this.routes.usageOf(source);
    usage.received++;
    if (isFiltered) usage.filtered++;
    if (lanes.length === 0) {
      debug('dropped %s %s: no destination takes it', message.type, message.messageId);
      return true;
    }
    const taken: TakenMessage = { id: message.messageId, body, bytes, copies: lanes.length, group };
    this.backlog.add(taken);
    debug('taken %s %s from %s', message.type, message.messageId, source);
    for (const { buffer } of lanes) buffer.push(taken);
    return true;
  }

  private async routeWithRoom(source: string, message: AnalyticsMessage, group: FlushGroup): Promise<void> {
    while (this.backlog.isHalfFull || !this.route(source, message, group)) {
      if (this.backlog.isEmpty) throw new MessageRefusedError('it is larger than `maxBufferedBytes`');
      this.flushNow();
      await this.backlog.nextRemoved();
    }
  }

  private readonly settle = (messages: readonly TakenMessage[]): void => {
    this.backlog.remove(messages);
    debug('queued %d messages', messages.length);
    if (this.backlog.isEmpty) this.observer.onDrained();
  };
}
