import debugFactory from 'debug';
import { MessageRefusedError } from '../errors/message-refused.error.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import { Backlog } from './backlog.js';
import type { FlushResult } from './flush-result.js';
import type { Lane } from './lane.js';
import { type FlushRules, MessageBuffer } from './message-buffer.js';
import { type JobSink, Outbox } from './outbox.js';
import { Routes, type RoutesOptions } from './routes.js';
import type { SourceUsage } from './source-usage.js';
import type { FlushGroup, TakenMessage } from './taken-message.js';

const debug = debugFactory('analytics');

export interface MessagePipelineOptions extends FlushRules, RoutesOptions {
  /** Bound of all that is taken and not in the queue yet, in bytes of bodies. */
  maxBufferedBytes: number;
}

/** Is told what becomes of the messages on their way into the queue. */
export interface MessagePipelineObserver {
  /** An add to the queue failed and will be repeated. */
  onAddFailed(error: unknown): void;
  /** Everything that was taken is in the queue. */
  onDrained(): void;
}

/** The way of messages into the queue: serialised once, buffered by lane, and handed over in batches. */
export class MessagePipeline {
  private readonly routes: Routes;
  private readonly outbox: Outbox;
  private readonly rules: FlushRules;
  private readonly backlog: Backlog;

  /** @param lanes a source without one drops what it takes */
  constructor(
    lanes: readonly Lane[],
    sink: JobSink,
    options: MessagePipelineOptions,
    private readonly observer: MessagePipelineObserver,
  ) {
    this.backlog = new Backlog(options.maxBufferedBytes);
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

  /** Whether messages of a source may lead anywhere. */
  leads(source: string): boolean {
    return this.routes.has(source);
  }

  /** Whether messages go on to another program's API rather than to destinations of this one. */
  get forwards(): boolean {
    return this.routes.forwards;
  }

  /** What a source has taken since the start. */
  usageOf(source: string): SourceUsage {
    return { ...this.routes.usageOf(source) };
  }

  /**
   * Brings a message on its way.
   *
   * @param group the messages that are waited for together; otherwise the next flush waits for it
   * @returns `false` when there is no room for it
   * @throws InvalidMessageError, MessageTooLargeError
   */
  take(source: string, message: AnalyticsMessage, group: FlushGroup = this.backlog.group): boolean {
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

  /**
   * As `take`, but waits for room, and fills half of the buffer only: calls from elsewhere still find theirs.
   *
   * @throws as `take`; MessageRefusedError for a message that is larger than the buffer, and
   *   AnalyticsClosedError when nothing is waited for any more
   */
  async takeWhenRoom(source: string, message: AnalyticsMessage, group: FlushGroup): Promise<void> {
    while (this.backlog.isHalfFull || !this.take(source, message, group)) {
      if (this.backlog.isEmpty) throw new MessageRefusedError('it is larger than `maxBufferedBytes`');
      this.flushNow();
      await this.backlog.nextRemoved();
    }
  }

  /** Flushes at once; resolves when all of a group is in the queue. @throws AnalyticsClosedError */
  async drain(group: FlushGroup): Promise<void> {
    this.flushNow();
    while (group.size > 0) await this.backlog.nextRemoved();
  }

  /** Flushes at once; resolves to whether all of a group was in the queue before the timeout. */
  drainWithin(timeout: number, group: FlushGroup): Promise<boolean> {
    this.flushNow();
    return this.backlog.drainedOf(group, timeout);
  }

  /** Resolves when all that was taken before the call is in the queue, or after the timeout. */
  flush(timeout: number | undefined): Promise<Omit<FlushResult, 'refused'>> {
    this.flushNow();
    return this.backlog.drained(timeout);
  }

  /** From now on no message waits for others, and nobody for a message longer than `patience` milliseconds. */
  passThrough(patience: number): void {
    this.rules.flushAt = 1;
    this.flushNow();
    setTimeout(this.backlog.giveUp, patience).unref();
  }

  /** Gives up what is not in the queue yet. Returns how many messages that are. */
  giveUp(): number {
    this.outbox.close();
    this.backlog.giveUp();
    return this.backlog.size;
  }

  /** Hands over what waits for a batch to fill, without waiting for more. */
  private flushNow(): void {
    this.routes.flush();
    this.outbox.hurry();
  }

  private readonly settle = (messages: readonly TakenMessage[]): void => {
    this.backlog.remove(messages);
    debug('queued %d messages', messages.length);
    if (this.backlog.isEmpty) this.observer.onDrained();
  };
}
