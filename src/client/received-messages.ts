import { MessageTooLargeError } from '../errors/message.errors.js';
import { objectOf } from '../messages/message-checks.js';
import type { AnalyticsMessage, JsonObject } from '../messages/message.types.js';
import type { Refusal, TakingTerms } from './admission.js';
import { ENLARGED } from './before-send.js';
import type { MessageCore } from './client-core.js';
import type { LiveCalls } from './live-calls.js';
import type { MessageFactory } from './message-factory.js';
import type { MessageFilter } from './message-filter.js';
import type { Refusals } from './refusals.js';

/** A message that another program sent, not yet checked. */
export interface ReceivedMessage {
  source: string;
  fields: JsonObject;
  /** Bytes of the message that do not count against the limit of one message. @default 0 */
  uncountedBytes?: number;
  /** Called, at once or later, if each destination refuses the message, or if its destinations cannot be looked up. */
  onRefused?: ((refusal: Refusal) => void) | undefined;
}

/** The messages of one source and tenant in a request. */
interface RequestPart {
  /** Tenant of the messages; `''` if none. */
  readonly tenant: string;
  /** Numbers of the messages, in order. */
  readonly numbers: number[];
}

/** The messages of one request. */
export interface RequestMessages {
  /** Number of the last message before the request. */
  readonly after: number;
  /** Parts of the request, by source and tenant. */
  readonly parts: Map<string, RequestPart>;
  /** Whether messages of every source and tenant are taken now. */
  readonly isForAll: boolean;
}

/**
 * Maximum number of tenants whose messages may wait for longer than a request does. Anybody who has a write key can
 * send messages of any number of tenants, and a store of the application may throw for each.
 */
const MAX_OVERDUE = 20;
/** The other program, which gets an answer to each of its requests. */
const CALLER = { isReceived: true, isAnswered: true };

/** The messages of a source and tenant that the queue did not get in time. */
interface Overdue extends Pick<RequestPart, 'tenant'> {
  /** Number of the message before those of the request that may still wait. The request's tenants share this object. */
  readonly rest: { after: number };
  /** Number of the last message that was not in the queue in time. */
  readonly last: number;
  /** Numbers of the messages that may still wait, in order. */
  readonly waiting: number[];
}

/** Takes the messages that other programs send, with the same checks and on the same path as calls. */
export class ReceivedMessages {
  /** By source and tenant, since another source may lead to destinations that the queue does take messages for. */
  private readonly overdue = new Map<string, Overdue>();

  constructor(
    private readonly core: MessageCore,
    private readonly factory: MessageFactory,
    private readonly filter: MessageFilter,
    private readonly refusals: Pick<Refusals, 'add'>,
    private readonly live: LiveCalls,
  ) {}

  /** Whether messages of a source and tenant are taken now; `''` stands for no tenant. */
  isOpenTo(source: string, tenant: string): boolean {
    const overdue = this.overdue.get(keyOf(source, tenant));
    return overdue === undefined || this.isOver(overdue);
  }

  /**
   * Whether a request finds room for this many bytes of messages. Such a request is taken as a whole, for any number of
   * destinations. If nothing else waits, it may be larger than the half of the buffer that received messages fill.
   */
  hasRoomFor(bytes: number): boolean {
    const { total, free } = this.core.buffered;
    return bytes <= free && (total === 0 || !this.core.isHalfFull(bytes));
  }

  /** Begins a request. Its messages have to be taken before any other message is. */
  begin(): RequestMessages {
    for (const [key, overdue] of this.overdue) if (this.isOver(overdue)) this.overdue.delete(key);
    return { after: this.core.last, parts: new Map(), isForAll: this.overdue.size === 0 };
  }

  /**
   * Whether messages of the same source and tenant as this message are taken now.
   *
   * @throws InvalidMessageError
   */
  admits(source: string, fields: JsonObject): boolean {
    const { message, tenant } = this.factory.received(source, fields, objectOf(fields, 'context'));
    return this.isOpenTo(source, this.core.outgoing.ownerOf(message, tenant));
  }

  /**
   * Takes a message of a request that found room. Apart from that request, received messages fill only half of the
   * buffer, which leaves room for the application's own calls. Received messages whose destinations are being looked up
   * fill a quarter.
   *
   * @returns `false` if there is no room. This is not counted, since the sender still has the whole request
   * @throws InvalidMessageError, MessageTooLargeError, AnalyticsClosedError, EventViolationError
   */
  take(request: RequestMessages, message: ReceivedMessage): boolean {
    this.core.assertOpen();
    const isTaken = this.takeOne(request, message);
    if (!isTaken) this.core.withdraw(request.after, this.core.last);
    return isTaken;
  }

  /**
   * Flushes at once. Resolves to whether all messages of a request got into the queue before the timeout. If not, the
   * sender sends them again, and no other messages of their sources and tenants are taken until the queue has them.
   */
  async handOver({ after, parts }: RequestMessages, timeout: number): Promise<boolean> {
    const upTo = Array.from(parts.values(), ({ numbers }) => numbers.at(-1) ?? after);
    if (await this.core.handOver(after, Math.max(after, ...upTo), timeout)) return true;
    const rest = { after };
    for (const [key, { tenant, numbers }] of parts) {
      // Each destination takes messages at its own pace, so any of the messages may still wait.
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
      const terms = { tenant, ...room, isReceived: true, onRefused };
      const refusals = this.takeFinished(source, message, finished, terms);
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
      if (first.kind !== 'backlog_full' && first !== ENLARGED) return false;
      // Destinations may be full for hours, which must not keep the rest of the request from other destinations.
      this.refusals.add(refusals, CALLER);
      if (first !== ENLARGED) onRefused?.(first);
      return true;
    } catch (error) {
      const tenant = this.factory.tenantOf(source);
      return this.live.failed({ source, type: fields.type, fields, tenant }, error);
    }
  }

  /** @param message the message as `beforeSend` got it. @param finished the message as `beforeSend` left it */
  private takeFinished(
    source: string,
    message: AnalyticsMessage,
    finished: AnalyticsMessage,
    terms: TakingTerms,
  ): readonly Refusal[] {
    try {
      return this.core.take(source, finished, terms);
    } catch (error) {
      if (!(error instanceof MessageTooLargeError) || finished === message) throw error;
      // The sender could do nothing about a message that was not too large when it was sent.
      if (this.core.outgoing.fits(source, message, terms)) return [ENLARGED];
      throw error;
    }
  }

  /** Whether the queue now has all messages that it did not get in time. */
  private isOver({ waiting }: Overdue): boolean {
    for (let last = waiting.at(-1); last !== undefined && this.core.isQueued(last); last = waiting.at(-1)) {
      waiting.pop();
    }
    return waiting.length === 0;
  }

  /**
   * Gives up the oldest overdue messages, to make room for others. Messages without a tenant do not count towards
   * `MAX_OVERDUE`, since the application has only so many sources.
   */
  private withdrawOldest(): void {
    let tenants = 0;
    for (const { tenant } of this.overdue.values()) if (tenant !== '') tenants++;
    for (const [key, { tenant, rest, last }] of this.overdue) {
      const isOneTooMany = tenant !== '' && tenants > MAX_OVERDUE;
      if (!isOneTooMany && !this.core.isCrowded) continue;
      this.core.withdraw(rest.after, last);
      // The request may have thousands more tenants, for which these numbers need not be searched again.
      rest.after = Math.max(rest.after, last);
      this.overdue.delete(key);
      if (tenant !== '') tenants--;
    }
  }
}

function keyOf(source: string, tenant: string): string {
  return JSON.stringify([source, tenant]);
}
