import { type Capacity, CapacityShare } from './capacity-share.js';
import type { EventLoopBudget } from './event-loop-budget.js';
import { WaitingShares } from './waiting-shares.js';

/** Share of the places that is reserved for destinations below their fair share, once there are several. */
const RESERVE = 1 / 8;

const NOBODY: ReadonlySet<CapacityShare> = new Set();

/**
 * A number of places that destinations share: the sockets of an origin, or the requests of this process. A destination
 * that finds no room waits in a ring, and gets the next free places in turn. So destinations that hold many places end
 * up with as many as those that hold few.
 */
export class SharedCapacity implements Capacity {
  private readonly shares = new Set<CapacityShare>();
  private readonly ring = new WaitingShares();
  private readonly reserve: number;
  /** The slow destination that has places of the reserve or beyond the limit, if any. */
  private slowInReserve: CapacityShare | undefined;
  private taken = 0;
  /** Places of the reserve that quick destinations hold. */
  private reserved = 0;
  /** Number of destinations that hold places beyond the limit. */
  private beyond = 0;
  /** Whether the ring goes on in a later turn of the event loop. */
  private isPostponed = false;
  /** Number of shares in the ring that have not been resumed in this round. */
  private unresumed = 0;
  /** Whether fair shares have grown, so that others in the ring may have what is reserved. */
  private hasFewerSharers = false;

  /**
   * @param limit total number of places
   * @param eventLoop makes the shares in the ring wait for the next turn of the event loop
   * @param extra how many destinations that hold no places may have those of one request beyond the limit, so that an
   *   idle destination never waits for others
   */
  constructor(
    private readonly limit: number,
    private readonly eventLoop: EventLoopBudget,
    private readonly extra = 0,
  ) {
    this.reserve = Math.floor(limit * RESERVE);
  }

  /** @param places how many each request takes */
  join(resume: CapacityShare['resume'], places = 1): CapacityShare {
    const share = new CapacityShare(this, places, resume);
    this.shares.add(share);
    return share;
  }

  /** @param share a share that takes no more places; it may still give back the places that it holds */
  leave(share: CapacityShare): void {
    this.shares.delete(share);
    this.ring.remove(share);
    this.hasFewerSharers = true;
  }

  get isUnused(): boolean {
    return this.shares.size === 0;
  }

  /**
   * Whether there is room for one more request. The first request of a share takes its places as soon as one is free,
   * and exceeds the limit by the others: places come free one at a time, so others would take each of them before it
   * had enough. So does a share that has kept its turn. Reserved places and places beyond the limit are for shares
   * whose requests are short, and for one slow share at a time, which would not free them again for a while.
   */
  hasRoom(share: CapacityShare): boolean {
    if (share.hasTurn) return true;
    const hasPlaces = this.free >= share.places;
    if (hasPlaces && this.unreserved(share.isSlow) >= (share.held === 0 ? 1 : share.places)) return true;
    if (share.held > 0) return hasPlaces && this.isPreferred(share);
    return (
      this.free > this.reserve || (this.hasReserve && (!share.isSlow || this.slowInReserve === undefined))
    );
  }

  /**
   * Lets a share whose turn it is take its places later, even if there is no room any more. Its request also needs
   * another capacity, and two busy capacities rarely have room at the same time. Or it needs time of its `rateLimit`,
   * which would be over by its next turn.
   */
  keepTurn(share: CapacityShare): void {
    share.hasTurn = this.hasRoom(share);
  }

  /** Takes the places of one request. */
  take(share: CapacityShare): void {
    const { isSlow, places } = share;
    share.hasTurn = false;
    if (share.held === 0) {
      if (isSlow && this.unreserved(true) <= 0) this.slowInReserve = share;
      share.isBeyond = this.free <= 0;
      if (share.isBeyond) this.beyond++;
    }
    if (!isSlow && this.unreserved(true) < places) {
      this.reservePlaces(share, share.reserved + Math.min(places, this.reserve - this.reserved));
    }
    this.taken += places;
    share.held += places;
  }

  /**
   * Gives places of one request back.
   *
   * @param places all places of the request, unless some of its URLs have answered before the others
   */
  release(share: CapacityShare, places = share.places): void {
    this.taken -= places;
    share.held -= places;
    if (share.reserved > share.held) this.reservePlaces(share, share.held);
    if (share.held === 0) {
      if (this.slowInReserve === share) this.slowInReserve = undefined;
      if (share.isBeyond) this.beyond--;
      share.isBeyond = false;
    }
    if (this.ring.all.has(share)) this.wait(share);
  }

  /** @param places how many of the places that the share holds are reserved ones */
  reservePlaces(share: CapacityShare, places: number): void {
    this.reserved += places - share.reserved;
    share.reserved = places;
  }

  /** Whether free places are kept for shares that wait below their fair share, and go on in a later turn. */
  get isPromised(): boolean {
    // The process has places beyond its limit for shares that hold none.
    return this.isPostponed && this.extra === 0 && this.ring.preferred.size > 0;
  }

  /** Resumes a share when it is its turn. */
  wait(share: CapacityShare): void {
    this.ring.add(share, this.isPreferred(share));
  }

  get hasWaiting(): boolean {
    return this.ring.all.size > 0;
  }

  /**
   * Resumes the waiting shares one after the other, until none of them finds room, or no more requests may begin in
   * this turn of the event loop. No share is resumed before it may send: otherwise all shares in the ring would come to
   * keep their turns. After a round, others that wait for the event loop go on.
   */
  readonly resume = (): void => {
    this.isPostponed = false;
    const isSpentBefore = this.eventLoop.isSpent;
    if (isSpentBefore && this.hasWaiting) this.postpone();
    if (isSpentBefore || !this.hasWaiting) return;
    if (this.hasFewerSharers) {
      this.hasFewerSharers = false;
      for (const share of this.ring.all) this.wait(share);
    }
    this.resumeSlow();
    if (this.unresumed <= 0) this.unresumed = this.ring.all.size;
    // A share that finds no room may leave the ring: it waits elsewhere, or has nothing more to send.
    for (let unasked = this.candidates.size; unasked > 0; this.unresumed--) {
      const [next] = this.candidates;
      if (next === undefined) break;
      const { isSpent, isContended } = this.eventLoop;
      if (isSpent || (isContended && this.unresumed <= 0)) {
        this.postpone();
        return;
      }
      this.ring.remove(next);
      unasked = next.resume(next) ? this.candidates.size : unasked - 1;
    }
    this.unresumed = 0;
  };

  /** Goes on in a later turn of the event loop: in the next turn if a round is not over. */
  private postpone(): void {
    this.isPostponed = true;
    if (this.unresumed > 0) this.eventLoop.continue(this.resume);
    else this.eventLoop.wait(this.resume);
  }

  /** Gives the slow share that has waited longest its turn, if the others would take each place before it. */
  private resumeSlow(): void {
    if (this.unreserved() > 0 || !this.hasReserve || this.slowInReserve !== undefined) return;
    for (const share of this.ring.slow) {
      if (share.held > 0) continue;
      this.ring.remove(share);
      share.resume(share);
      return;
    }
  }

  private get free(): number {
    return this.limit - this.taken;
  }

  /**
   * Number of free places that are not reserved. While slow shares wait, the reserve shrinks by the places of it that
   * quick shares hold. Otherwise quick shares would take each place that comes free, and slow shares would get none.
   */
  private unreserved(isForSlow = false): number {
    const isSlowWaiting = isForSlow || this.ring.slow.size > 0;
    return this.free - this.reserve + (isSlowWaiting ? this.reserved : 0);
  }

  /** Whether there are places of the reserve, or beyond the limit. */
  private get hasReserve(): boolean {
    return this.free > 0 || this.beyond < this.extra;
  }

  /** Shares in the ring that may find room, in turn. */
  private get candidates(): ReadonlySet<CapacityShare> {
    if (this.unreserved() > 0) return this.ring.all;
    if (this.free > 0) return this.ring.preferred;
    return this.beyond < this.extra ? this.ring.idle : NOBODY;
  }

  /**
   * Whether a share may have reserved places: it is the only one, or is quick and holds no places, or is quick and
   * stays within its fair share with one more request.
   */
  private isPreferred({ held, places, isSlow }: CapacityShare): boolean {
    const sharers = this.shares.size;
    return sharers === 1 || (!isSlow && (held === 0 || held + places <= this.limit / sharers));
  }
}
