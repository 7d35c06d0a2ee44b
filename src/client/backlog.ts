import type { ShownMessage } from '../live/live-event.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import { type Clock, LONGEST_TIMER, type Timer } from '../shared/clock.js';
import type { CallTrace } from '../shared/telemetry.js';
import type { BufferedBytes } from './buffered-bytes.js';
import { OutstandingNumbers } from './outstanding-numbers.js';
import { type RangeWait, RangeWaits } from './range-waits.js';

/** Longest wait that begins after the time of a shutdown is over, in milliseconds. */
const LATE_PATIENCE = 1_000;

/** The call that a message was taken from. */
export interface TakenCall {
  readonly source: string;
  /** Tenant of the event, if the call or the source names one. */
  readonly tenant: string | undefined;
  /** `undefined` if nobody watched at the time of the call, or if its destinations had to be looked up. */
  readonly message: AnalyticsMessage | undefined;
  /** What is shown of the message, if `message` itself is not kept. */
  readonly shown?: ShownMessage | undefined;
  /** Time of the call, in milliseconds since the epoch; `undefined` while nobody watches. */
  readonly at: number | undefined;
  /** Whether the sender learns of a refusal directly, so that no flush reports it. */
  readonly isAnswered: boolean;
}

/** A message that was taken: checked, serialised, and on its way to the queue. */
export interface TakenMessage {
  /** Number among all messages of this process, from 1. */
  readonly number: number;
  /** The messageId. */
  readonly id: string;
  /** The snapshot: JSON text as it will be sent. */
  readonly body: string;
  /** Bytes of the body in UTF-8. */
  readonly bytes: number;
  /** Tenant of the event; `undefined` if there is none. */
  readonly tenant: string | undefined;
  /** Whether another program sent the message. */
  readonly isReceived: boolean;
  /** Trace of the call; `undefined` in an application without telemetry. */
  readonly call: CallTrace | undefined;
  /** Copies, one per destination, that are not in the queue yet. */
  copies: number;
}

/** What is known of a message when it is taken. */
export type NewMessage = Pick<TakenMessage, 'id' | 'body' | 'bytes' | 'tenant' | 'isReceived' | 'call'>;

/** A wait until every message up to a number is in the queue. */
interface Waiter {
  readonly upTo: number;
  /** Messages up to `upTo` that left without getting into the queue. */
  dropped: number;
  timer: Timer | undefined;
  readonly end: (isQueued: boolean) => void;
}

/** What became of the messages that were outstanding when a wait began. */
export interface WaitResult {
  queued: number;
  pending: number;
}

/**
 * Keeps track of the messages that were taken and are not in the queue yet, in the order of the calls. A wait is for a
 * message's number, so it costs the same however many messages and waits came before.
 */
export class Backlog {
  /** In the order of `upTo`, since each wait covers all messages that were taken before it began. */
  private readonly waiters = new Set<Waiter>();
  private readonly rangeWaits: RangeWaits;
  private roomWaiters: ((hasRoom: boolean) => void)[] = [];
  private count = 0;
  /** Longest time that a wait beginning now may take, in milliseconds. */
  private patience = Infinity;

  constructor(
    /** Bytes of all messages in the backlog. */
    readonly bytes: BufferedBytes,
    private readonly clock: Clock,
    private readonly numbers = new OutstandingNumbers(),
  ) {
    this.rangeWaits = new RangeWaits(numbers);
  }

  /** Number of messages in the backlog. */
  get size(): number {
    return this.count;
  }

  /** Number of the message that was taken last. */
  get last(): number {
    return this.numbers.last;
  }

  isQueued(number: number): boolean {
    return this.numbers.lowestFrom(number, number) > number;
  }

  add({ id, body, bytes, tenant, isReceived, call }: NewMessage, copies: number): TakenMessage {
    const message = { number: this.numbers.next(), id, body, bytes, tenant, isReceived, call, copies };
    this.bytes.add(message, bytes * copies);
    this.count++;
    return message;
  }

  /** Sets the number of copies of a message, which was counted once while its route was unknown. */
  spread(message: TakenMessage, copies: number): void {
    this.bytes.add(message, message.bytes * (copies - message.copies));
    message.copies = copies;
  }

  /** Removes one copy of each message, which is in the queue now. */
  remove(messages: readonly TakenMessage[]): void {
    for (const message of messages) {
      this.bytes.add(message, -message.bytes);
      if (--message.copies === 0) this.settle(message);
    }
    this.endWaits(messages);
  }

  /** Removes a message that will not get into the queue. Waits count it neither as queued nor as pending. */
  drop(message: TakenMessage): void {
    this.bytes.add(message, -message.bytes * message.copies);
    for (const waiter of this.waiters) if (waiter.upTo >= message.number) waiter.dropped++;
    message.copies = 0;
    this.settle(message);
    this.endWaits([message]);
  }

  /** Waits until all current messages have left, for at most `timeout` milliseconds. */
  wait(timeout = Infinity): Promise<WaitResult> {
    const upTo = this.numbers.last;
    const waiting = this.count;
    if (waiting === 0) return Promise.resolve({ queued: 0, pending: 0 });
    if (this.patience === 0) return Promise.resolve({ queued: 0, pending: waiting });
    return new Promise((resolve) => {
      const waiter: Waiter = {
        upTo,
        dropped: 0,
        timer: undefined,
        end: (isQueued) => {
          waiter.timer?.cancel();
          this.waiters.delete(waiter);
          const pending = isQueued ? 0 : this.numbers.countUpTo(upTo);
          resolve({ queued: waiting - waiter.dropped - pending, pending });
        },
      };
      this.waiters.add(waiter);
      waiter.timer = this.timer(timeout, () => {
        waiter.end(false);
      });
    });
  }

  /**
   * Waits for the messages after number `after` up to number `upTo`, for at most `timeout` milliseconds. Resolves to
   * whether all of them have left.
   */
  waitFor(after: number, upTo: number, timeout: number): Promise<boolean> {
    const lowest = this.numbers.lowestFrom(after + 1, upTo);
    if (lowest > upTo) return Promise.resolve(true);
    if (this.patience === 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = this.timer(timeout, () => {
        this.rangeWaits.delete(wait);
        resolve(false);
      });
      const end = (haveLeft: boolean): void => {
        timer?.cancel();
        resolve(haveLeft);
      };
      const wait: RangeWait = { lowest, upTo, end };
      this.rangeWaits.add(wait);
    });
  }

  /** Resolves to `true` when the next message has left, or to `false` when waits end. */
  room(): Promise<boolean> {
    if (this.patience < Infinity) return Promise.resolve(false);
    return new Promise((resolve) => this.roomWaiters.push(resolve));
  }

  /** Ends all waits, since the time of the shutdown is over. Later waits are short, and none is for room. */
  release(): void {
    this.endAllWaits(LATE_PATIENCE);
  }

  /** Ends all waits for good, since no message gets into the queue any more. */
  close(): void {
    this.endAllWaits(0);
  }

  /** Returns no timer if the wait is longer than any timer can be. */
  private timer(timeout: number, callback: () => void): Timer | undefined {
    const limit = Math.min(timeout, this.patience);
    return limit > LONGEST_TIMER ? undefined : this.clock.after(limit, callback);
  }

  /** @param patience longest time of waits that begin from now on, in milliseconds */
  private endAllWaits(patience: number): void {
    this.patience = patience;
    for (const waiter of this.waiters) waiter.end(false);
    this.rangeWaits.release();
    this.endRoomWaits(false);
  }

  private settle(message: TakenMessage): void {
    this.count--;
    this.numbers.settle(message.number);
  }

  private endRoomWaits(hasRoom: boolean): void {
    const waiters = this.roomWaiters;
    this.roomWaiters = [];
    for (const end of waiters) end(hasRoom);
  }

  /** @param left messages of which a copy has left. Those with `copies` above 0 are still outstanding */
  private endWaits(left: readonly TakenMessage[]): void {
    if (this.roomWaiters.length > 0) this.endRoomWaits(true);
    if (!this.rangeWaits.isEmpty) {
      for (const { number, copies } of left) if (copies === 0) this.rangeWaits.onSettled(number);
    }
    for (const waiter of this.waiters) {
      if (waiter.upTo >= this.numbers.lowest) return;
      waiter.end(true);
    }
  }
}

/** Returns the bytes of all the messages' bodies together, in UTF-8. */
export function bytesOf(messages: readonly TakenMessage[]): number {
  return messages.reduce((sum, message) => sum + message.bytes, 0);
}
