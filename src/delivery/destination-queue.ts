import type { AttemptTerms, Destination, SettleMessages } from '../destinations/destination.js';
import type { QueuedMessage } from '../queue/batch-job.js';
import type { DestinationWindow } from './destination-window.js';
import { limitOf } from './destination-pace.js';
import { type BatchResults, type GivenBack, HeldBatch } from './held-batch.js';
import type { PutBackJobs } from './put-back-jobs.js';
import type { RateBudget } from './rate-limits/rate-budget.js';
import { RequestPlaces } from './request-places.js';
import type { CapacityShare } from './shared-capacity.js';

/**
 * How long a turn lasts, in milliseconds. A request that ends before then leaves its places to the next one of its
 * destination, whose data the processor's caches still hold.
 */
const TURN = 10;

/** Learns when a destination may need more to do. */
export interface DestinationQueueObserver {
  /** All messages of a batch have been sent. */
  onBatchSent(queue: DestinationQueue): void;
  /** All messages of a batch are settled. */
  onBatchEnded(queue: DestinationQueue): void;
}

/**
 * The batches of one destination that this process has in hand, and the requests on their way to it. While there is more
 * to send, it goes on at its turn for a capacity, when its `rateLimit` allows it, or at the end of a request.
 */
export class DestinationQueue {
  private readonly batches: HeldBatch[] = [];
  private shares: readonly CapacityShare[] = [];
  private joined: readonly string[] = [];
  private underway = 0;
  private messages = 0;
  private unsent = 0;
  /** Made when it has a `rateLimit` for the first time. */
  private budget: RateBudget | undefined;
  private held = 0;
  /** When it last had something to do, by `performance.now()`. */
  private activeAt = performance.now();

  /**
   * @param putBack its jobs that this process has put back
   * @param observer learns when there may be room for another batch
   * @param createBudget makes what limits the requests of a destination with a `rateLimit`
   */
  constructor(
    private current: Destination,
    readonly window: DestinationWindow,
    readonly putBack: PutBackJobs,
    private readonly observer: DestinationQueueObserver,
    private readonly createBudget: (resume: () => void) => RateBudget,
  ) {}

  /** Where the messages go. */
  get destination(): Destination {
    return this.current;
  }

  /** The origins that its requests take sockets of. */
  get origins(): readonly string[] {
    return this.joined;
  }

  /** Makes the requests go to a destination, which may have changed, and take places of these capacities. */
  use(destination: Destination, shares: readonly CapacityShare[]): void {
    this.current = destination;
    this.joined = destination.origins;
    this.shares = shares;
    for (const share of shares) share.isSlow = this.window.isSlow;
  }

  get batchesInHand(): number {
    return this.held;
  }

  /** Messages in hand that are not settled. */
  get messagesInHand(): number {
    return this.messages;
  }

  /** Messages in hand that have not been sent. */
  get unsentMessages(): number {
    return this.unsent;
  }

  /** Whether a request would go out at once, as far as this process knows. */
  get canSend(): boolean {
    const isHeldBack = limitOf(this.current) !== undefined && this.budget?.isFree === false;
    return !isHeldBack && this.shares.every((share) => share.capacity.hasRoom(share));
  }

  /** Milliseconds since it last had something to do. */
  idleFor(now: number): number {
    return this.held > 0 || this.putBack.messages > 0 ? 0 : now - this.activeAt;
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
    this.held++;
    this.messages += messages.length;
    this.unsent += messages.length;
    this.batches.push(new HeldBatch(messages, terms, settle));
    this.advance();
  }

  /** Sends as much as the window and the capacities allow. If others wait for a capacity, it takes its turn. */
  advance(): void {
    while (this.wantsMore) {
      const others = this.underway === 0 ? [] : this.shares;
      const contended = others.find(({ capacity, hasTurn }) => capacity.hasWaiting && !hasTurn);
      if (contended !== undefined) {
        contended.capacity.wait(contended);
        return;
      }
      if (!this.sendNext()) return;
    }
  }

  /** The process is about to end. What waits for a `rateLimit` is broken off, so that the end does not wait. */
  breakOff(): void {
    if (limitOf(this.current) !== undefined) this.giveBack();
  }

  /**
   * Sends no more of the batches in hand than is on its way.
   *
   * @param wait milliseconds until the rest should be tried again; `undefined` if it is broken off
   */
  giveBack(wait?: number): void {
    for (const batch of this.batches.splice(0)) {
      const { unsent } = batch;
      batch.giveBack(wait);
      this.unsent -= unsent;
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
    return this.batches.length > 0 && this.underway < this.window.requests;
  }

  /** Sends the next request, on its turn at a capacity if there is one, or waits. Returns whether it was sent. */
  private sendNext(turn?: CapacityShare): boolean {
    const batch = this.batches[0];
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
    this.send(batch, performance.now());
    return true;
  }

  /** Whether its `rateLimit` allows a request now. If not, this goes on when it does. */
  private isWithinLimit(): boolean {
    const limit = limitOf(this.current);
    if (limit === undefined) return true;
    this.budget ??= this.createBudget(this.goOn);
    return this.budget.take(limit, this.unsent);
  }

  /** Sends the next request of a batch on places that were taken for it. Returns whether it still has them. */
  private send(batch: HeldBatch, now: number, turnEnd = now + TURN): boolean {
    const { first, messages } = batch.take(this.destination);
    this.unsent -= messages.length;
    const isSent = batch.unsent === 0;
    if (isSent) this.batches.shift();
    const request = this.window.begin(now);
    // Others may be in use by the time that it is settled.
    const places = new RequestPlaces(this.shares, this.joined);
    this.underway++;
    let isOnItsWay = true;
    const settle: SettleMessages = (results) => {
      isOnItsWay = false;
      this.underway--;
      batch.record(first, results);
      const endedAt = performance.now();
      this.window.end(request, results, endedAt, this.underway === 0 && this.batches.length === 0);
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
    if (isSent) this.observer.onBatchSent(this);
    return isOnItsWay;
  }

  /** What is sent with the places of a request that has ended; `undefined` if others may have them. */
  private nextOfTurn(shares: readonly CapacityShare[]): HeldBatch | undefined {
    const isOver = this.window.isFailing || shares !== this.shares;
    return isOver || !this.wantsMore || limitOf(this.current) !== undefined ? undefined : this.batches[0];
  }

  /**
   * Offers free places to those that wait for them, this one included, and sends what it still may.
   *
   * @param freed those of a request that has ended; after a change, they are not those of the next one
   */
  private readonly goOn = (freed = this.shares): void => {
    for (const share of freed) {
      if (!share.capacity.hasWaiting) continue;
      if (this.wantsMore && this.shares.includes(share)) share.capacity.wait(share);
      share.capacity.resume();
    }
    this.advance();
  };

  private settled(batch: HeldBatch, messages: number): void {
    this.messages -= messages;
    if (!batch.settle(messages)) return;
    this.held--;
    this.activeAt = performance.now();
    this.observer.onBatchEnded(this);
    batch.end();
  }
}
