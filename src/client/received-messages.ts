import { objectOf } from '../messages/message-checks.js';
import type { JsonObject } from '../messages/message.types.js';
import type { Refusal } from './admission.js';
import type { MessageCore } from './client-core.js';
import type { LiveCalls } from './live-calls.js';
import type { MessageFactory } from './message-factory.js';
import type { MessageFilter } from './message-filter.js';
import type { Refusals } from './refusals.js';

/** A message that another program sent, not yet checked. */
export interface ReceivedMessage {
  source: string;
  fields: JsonObject;
  /** Bytes of it that do not count against the limit of one message. @default 0 */
  uncountedBytes?: number;
  /** Called if none of its destinations takes it, or if they cannot be looked up: at once or later. */
  onRefused?: ((refusal: Refusal) => void) | undefined;
}

/** The messages of one source and tenant in a request. */
interface RequestPart {
  /** `''` for nobody. */
  readonly tenant: string;
  /** Numbers of all of them, in order. */
  readonly numbers: number[];
}

/** The messages of one request. */
export interface RequestMessages {
  /** Number of the message before them. */
  readonly after: number;
  /** Those of each source and tenant, by both. */
  readonly parts: Map<string, RequestPart>;
  /** Whether messages of every source and tenant are taken now. */
  readonly isForAll: boolean;
}

/**
 * Tenants whose messages may wait for longer than a request does. Anybody who has a write key can send messages of
 * any number of tenants, and a store of the application may throw for each.
 */
const MAX_OVERDUE = 20;
/** It has an answer of its own to each of its requests. */
const CALLER = { isReceived: true, isAnswered: true };

/** The messages of a source and tenant that the queue did not get in time. */
interface Overdue extends Pick<RequestPart, 'tenant'> {
  /** Number of the message before those of their request that may still wait; one object for all of its tenants. */
  readonly rest: { after: number };
  /** Number of the last one that was not in the queue in time. */
  readonly last: number;
  /** The numbers of those that may still wait, in order. */
  readonly waiting: number[];
}

/** Takes the messages that other programs send, with the same checks and on the same path as calls. */
export class ReceivedMessages {
  /** By the source and the tenant: another source may lead to destinations that the queue does take messages for. */
  private readonly overdue = new Map<string, Overdue>();

  constructor(
    private readonly core: MessageCore,
    private readonly factory: MessageFactory,
    private readonly filter: MessageFilter,
    private readonly refusals: Pick<Refusals, 'add'>,
    private readonly live: LiveCalls,
  ) {}

  /** Whether messages of a source and tenant are taken now, or with `''` those of nobody. */
  isOpenTo(source: string, tenant: string): boolean {
    const overdue = this.overdue.get(keyOf(source, tenant));
    return overdue === undefined || this.isOver(overdue);
  }

  /**
   * Whether a request finds room for messages of so many bytes: then it is taken as a whole, for however many
   * destinations. Where nothing else waits, it may be larger than the half that received messages fill.
   */
  hasRoomFor(bytes: number): boolean {
    const { total, free } = this.core.buffered;
    return bytes <= free && (total === 0 || !this.core.isHalfFull(bytes));
  }

  /** Begins a request. Its messages have to be taken before anything else is. */
  begin(): RequestMessages {
    for (const [key, overdue] of this.overdue) if (this.isOver(overdue)) this.overdue.delete(key);
    return { after: this.core.last, parts: new Map(), isForAll: this.overdue.size === 0 };
  }

  /**
   * Whether messages of a message's source and tenant are taken now.
   *
   * @throws InvalidMessageError
   */
  admits(source: string, fields: JsonObject): boolean {
    const { message, tenant } = this.factory.received(source, fields, objectOf(fields, 'context'));
    return this.isOpenTo(source, this.core.outgoing.ownerOf(message, tenant));
  }

  /**
   * Takes a message of a request that found room. Received messages fill only half of the buffer, that request aside,
   * which leaves room for the application's own calls; those whose destinations are looked up fill a quarter.
   *
   * @returns `false` if there is no room; that is not counted, since its sender still has it, as all of its request
   * @throws InvalidMessageError, MessageTooLargeError, AnalyticsClosedError, EventViolationError
   */
  take(request: RequestMessages, message: ReceivedMessage): boolean {
    this.core.assertOpen();
    const isTaken = this.takeOne(request, message);
    if (!isTaken) this.core.withdraw(request.after, this.core.last);
    return isTaken;
  }

  /**
   * Flushes at once. Resolves to whether all messages of a request got into the queue before the timeout. If they
   * did not, they are sent again, and nothing else of their sources and tenants should be taken until they have been.
   */
  async handOver({ after, parts }: RequestMessages, timeout: number): Promise<boolean> {
    const upTo = Array.from(parts.values(), ({ numbers }) => numbers.at(-1) ?? after);
    if (await this.core.handOver(after, Math.max(after, ...upTo), timeout)) return true;
    const rest = { after };
    for (const [key, { tenant, numbers }] of parts) {
      // Each destination takes messages at its own pace, so any of them may still wait.
      const waiting = numbers.filter((number) => !this.core.isQueued(number));
      const last = waiting.at(-1);
      if (last !== undefined) this.overdue.set(key, { tenant, rest, last, waiting });
    }
    this.withdrawOldest();
    return false;
  }

  private takeOne(
    request: RequestMessages,
    { source, fields, uncountedBytes = 0, onRefused }: ReceivedMessage,
  ): boolean {
    try {
      const context = objectOf(fields, 'context');
      const { message, tenant } = this.factory.received(source, fields, context);
      const finished = this.live.passed(this.filter, source, message, tenant, CALLER);
      if (finished === null) return true;
      const room = this.factory.roomFor(source, context, uncountedBytes);
      const before = this.core.last;
      const refusals = this.core.take(source, finished, { tenant, ...room, isReceived: true, onRefused });
      if (this.core.last > before) {
        const owner = this.core.outgoing.ownerOf(finished, tenant);
        const key = keyOf(source, owner);
        const part = request.parts.get(key);
        if (part === undefined) request.parts.set(key, { tenant: owner, numbers: [this.core.last] });
        else part.numbers.push(this.core.last);
      }
      const [first] = refusals;
      if (first === undefined) return true;
      this.live.refused({ source, tenant, message: finished }, refusals);
      if (first.kind !== 'backlog_full') return false;
      // Its destinations may be full for hours, which must not keep the rest of the request away from others.
      this.refusals.add(refusals, CALLER);
      onRefused?.(first);
      return true;
    } catch (error) {
      const tenant = this.factory.tenantOf(source);
      return this.live.failed({ source, type: fields.type, fields, tenant }, error);
    }
  }

  /** Whether the queue has all messages that it did not get in time. */
  private isOver({ waiting }: Overdue): boolean {
    for (let last = waiting.at(-1); last !== undefined && this.core.isQueued(last); last = waiting.at(-1)) {
      waiting.pop();
    }
    return waiting.length === 0;
  }

  /** What waits for longer must leave room for other messages. The application has only so many sources. */
  private withdrawOldest(): void {
    let tenants = 0;
    for (const { tenant } of this.overdue.values()) if (tenant !== '') tenants++;
    for (const [key, { tenant, rest, last }] of this.overdue) {
      const isOneTooMany = tenant !== '' && tenants > MAX_OVERDUE;
      if (!isOneTooMany && !this.core.isCrowded) continue;
      this.core.withdraw(rest.after, last);
      // A request may have thousands of tenants.
      rest.after = Math.max(rest.after, last);
      this.overdue.delete(key);
      if (tenant !== '') tenants--;
    }
  }
}

function keyOf(source: string, tenant: string): string {
  return JSON.stringify([source, tenant]);
}
