import type { AttemptTerms, Destination, SettleMessages } from '../destinations/destination.js';
import type { QueuedMessage } from '../queue/batch-job.js';
import { BatchesInHand } from './batches-in-hand.js';
import type { DestinationWindow } from './destination-window.js';
import { limitOf, requestsFor } from './destination-pace.js';
import type { EventLoopBudget } from './event-loop-budget.js';
import { type BatchResults, type GivenBack, HeldBatch } from './held-batch.js';
import type { PutBackJobs } from './put-back-jobs.js';
import type { RateBudget } from './rate-limits/rate-budget.js';
import { RequestPlaces } from './request-places.js';
import type { CapacityShare } from './capacity-share.js';

/**
 * Length of a turn, in milliseconds. A request that ends before then leaves its places to the next request of its
 * destination, whose data the processor's caches still hold.
 */
const TURN = 10;

/** Learns when a destination may need more to do. */
export interface DestinationQueueObserver {
  /** Called when all messages of a batch have been sent. */
  onBatchSent(queue: DestinationQueue): void;
  /** Called when all messages of a batch are settled. */
  onBatchEnded(queue: DestinationQueue): void;
}

interface DestinationQueueParts {
  window: DestinationWindow;
  /** The destination's jobs that this process has put back. */
  putBack: PutBackJobs;
  /** Learns when there may be room for another batch. */
  observer: DestinationQueueObserver;
  eventLoop: EventLoopBudget;
  /** Creates the budget that limits the requests of a destination with a `rateLimit`. */
  createBudget: (resume: () => void) => RateBudget;
}

/**
 * The batches of one destination that this process has in hand, and the requests on their way to it. While there is
 * more to send, the queue goes on when its turn comes at a capacity or in the event loop, when its `rateLimit` allows
 * it, or when a request ends.
 */
export class DestinationQueue {
  readonly batches = new BatchesInHand();
  readonly window: DestinationWindow;
  readonly putBack: PutBackJobs;
  private readonly budget: RateBudget;
  private shares: readonly CapacityShare[] = [];
  private joined: readonly string[] = [];
  private underway = 0;

  constructor(
    private current: Destination,
    private readonly parts: DestinationQueueParts,
  ) {
    this.window = parts.window;
    this.putBack = parts.putBack;
    // Does not wait for the event loop, since the reserved time would be over by then.
    this.budget = parts.createBudget(() => {
      this.goOn(this.shares, true);
    });
  }

  /** Where the messages go. */
  get destination(): Destination {
    return this.current;
  }

  /** The origins whose sockets the requests take. */
  get origins(): readonly string[] {
    return this.joined;
  }

  /** Directs the requests to a destination, which may have changed, and makes them take places of these capacities. */
  use(destination: Destination, shares: readonly CapacityShare[]): void {
    this.current = destination;
    this.joined = destination.origins;
    this.shares = shares;
    for (const share of shares) share.isSlow = this.window.isSlow;
  }

  /** Whether a request would go out at once, as far as this process knows. */
  get canSend(): boolean {
    const isHeldBack = limitOf(this.current) !== undefined && !this.budget.isFree;
    return !isHeldBack && this.shares.every((share) => share.capacity.hasRoom(share));
  }

  /** Returns the milliseconds since the destination last had something to do. */
  idleFor(now: number): number {
    return this.putBack.messages > 0 ? 0 : this.batches.idleFor(now);
  }

  get capacityShares(): readonly CapacityShare[] {
    return this.shares;
  }

  /**
   * Sends a batch when its turn comes.
   *
   * @param messages at least one
   * @param settle called with the result of each message, in their order, or when the batch is given back
   */
  deliver(
    messages: readonly QueuedMessage[],
    terms: AttemptTerms,
    settle: (end: BatchResults | GivenBack) => void,
  ): void {
    this.batches.add(new HeldBatch(messages, terms, settle));
    // A destination that was idle does not wait for the event loop.
    this.advance(this.batches.count === 1);
  }

  /**
   * Sends as much as the window and the capacities allow. If others wait for a capacity or the event loop, waits for
   * its turn. With `mayBegin`, the first request does not wait for the event loop.
   */
  advance(mayBegin = false): void {
    for (let isFirst = mayBegin; this.wantsMore;) {
      const before = this.underway;
      if (this.waitsForOthers(isFirst) || !this.sendNext()) return;
      // Messages that are held back make no request.
      isFirst &&= this.underway === before;
    }
  }

  /** Goes on in a turn of the event loop. */
  private readonly begin = (): void => {
    this.advance(true);
  };

  /** Breaks off what waits for a `rateLimit`, since the process is about to end and should not wait for it. */
  breakOff(): void {
    if (limitOf(this.current) !== undefined) this.giveBack();
  }

  /**
   * Gives back all messages in hand that have not been sent.
   *
   * @param wait milliseconds until the rest should be tried again; `undefined` if it is broken off
   */
  giveBack(wait?: number): void {
    for (const batch of this.batches.takeAll()) {
      const { unsent } = batch;
      batch.giveBack(wait);
      this.settled(batch, unsent);
    }
  }

  /** Sends one request on this destination's turn, and waits for the next turn if there is more to send. */
  readonly resume = (share: CapacityShare): boolean => {
    const isSent = this.sendNext(share);
    if (isSent && this.wantsMore) share.capacity.wait(share);
    return isSent;
  };

  private get wantsMore(): boolean {
    return this.batches.next !== undefined && this.underway < this.window.requests;
  }

  /** Returns whether it now waits for others. With nothing on its way, it takes free places not promised to others. */
  private waitsForOthers(mayBegin: boolean): boolean {
    const isWaitedFor = this.underway === 0 ? 'isPromised' : 'hasWaiting';
    const contended = this.shares.find(({ capacity, hasTurn }) => !hasTurn && capacity[isWaitedFor]);
    const waitsForEventLoop = !mayBegin && this.parts.eventLoop.isContended;
    if (contended !== undefined) contended.capacity.wait(contended);
    else if (waitsForEventLoop) this.parts.eventLoop.wait(this.begin);
    return contended !== undefined || waitsForEventLoop;
  }

  /** Sends the next request, on its turn at a capacity if there is one, or waits. Returns whether it was sent. */
  private sendNext(turn?: CapacityShare): boolean {
    const batch = this.batches.next;
    if (batch === undefined || !this.wantsMore) return false;
    for (const share of this.shares) {
      if (share.capacity.hasRoom(share)) continue;
      if (turn !== share) turn?.capacity.keepTurn(turn);
      share.capacity.wait(share);
      return false;
    }
    if (!this.isWithinLimit()) {
      turn?.capacity.keepTurn(turn);
      return false;
    }
    for (const share of this.shares) share.capacity.take(share);
    // Messages that are held back make no request.
    if (this.send(batch, performance.now())) this.parts.eventLoop.take(requestsFor(this.current));
    return true;
  }

  /** Whether the `rateLimit` allows a request now. If not, the queue goes on when it does. */
  private isWithinLimit(): boolean {
    const limit = limitOf(this.current);
    return limit === undefined || this.budget.take(limit, this.batches.unsent);
  }

  /** Sends the next request of a batch on places taken for it. Returns whether the request still holds them. */
  private send(batch: HeldBatch, now: number, turnEnd = now + TURN): boolean {
    const { first, messages } = this.batches.take(batch, this.destination);
    const isSent = batch.unsent === 0;
    const request = this.window.begin(now);
    // The queue may use other shares by the time that the request is settled.
    const places = new RequestPlaces(this.shares, this.joined);
    this.underway++;
    let isOnItsWay = true;
    const settle: SettleMessages = (results) => {
      isOnItsWay = false;
      this.underway--;
      batch.record(first, results);
      const endedAt = performance.now();
      this.window.end(request, results, endedAt, this.underway === 0 && this.batches.next === undefined);
      for (const share of places.shares) share.isSlow = this.window.isSlow;
      const isTurn = places.isSent && places.areAllHeld && endedAt < turnEnd;
      const next = isTurn ? this.nextOfTurn(places.shares) : undefined;
      if (next === undefined) places.release();
      const isKept = next !== undefined && this.send(next, endedAt, turnEnd);
      this.settled(batch, messages.length);
      if (places.isSent && (!isKept || this.wantsMore)) this.goOn(places.shares);
    };
    this.destination.deliver(messages, batch.terms, settle, places.answered);
    places.isSent = true;
    if (isSent) this.parts.observer.onBatchSent(this);
    return isOnItsWay;
  }

  /** Returns the batch that takes over the places of an ended request; `undefined` if others may have them. */
  private nextOfTurn(shares: readonly CapacityShare[]): HeldBatch | undefined {
    const isOver = this.window.isFailing || shares !== this.shares;
    return isOver || !this.wantsMore || limitOf(this.current) !== undefined ? undefined : this.batches.next;
  }

  /**
   * Offers free places to all destinations that wait for them, this one included, and sends what may be sent now.
   *
   * @param freed shares of a request that has ended; if the destination has changed, the next request has others
   */
  private goOn(freed: readonly CapacityShare[], mayBegin = false): void {
    for (const share of freed) {
      if (!share.capacity.hasWaiting) continue;
      if (this.wantsMore && this.shares.includes(share)) share.capacity.wait(share);
      share.capacity.resume();
    }
    this.advance(mayBegin);
  }

  private settled(batch: HeldBatch, messages: number): void {
    if (!this.batches.settle(batch, messages)) return;
    this.parts.observer.onBatchEnded(this);
    batch.end();
  }
}
