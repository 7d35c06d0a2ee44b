/** Share of the places that is reserved for destinations below their fair share, once there are several. */
const RESERVE = 1 / 8;

/** One destination's share of a capacity. */
export class CapacityShare {
  /** Places that it holds now. */
  held = 0;

  /**
   * @param resume called when its turn comes after a wait: takes places for one request, waits again if it
   *   wants more, and returns whether it took any
   */
  constructor(
    readonly capacity: SharedCapacity,
    readonly resume: (share: CapacityShare) => boolean,
  ) {}
}

/**
 * A number of places that destinations share: the sockets of an origin, or the requests of this process. A
 * destination that finds no room waits in a ring and gets the next free places in turn. So those that hold
 * many places end up with as many as those that hold few.
 */
export class SharedCapacity {
  private readonly shares = new Set<CapacityShare>();
  private readonly ring = new Set<CapacityShare>();
  private readonly reserve: number;
  private taken = 0;

  /**
   * @param limit total number of places
   * @param extra places beyond the limit for destinations that hold none, so that an idle one never waits for
   *   others
   */
  constructor(
    private readonly limit: number,
    private readonly extra = 0,
  ) {
    this.reserve = Math.floor(limit * RESERVE);
  }

  join(resume: CapacityShare['resume']): CapacityShare {
    const share = new CapacityShare(this, resume);
    this.shares.add(share);
    return share;
  }

  /** @param share a share that holds no places any more */
  leave(share: CapacityShare): void {
    this.shares.delete(share);
    this.ring.delete(share);
  }

  get isUnused(): boolean {
    return this.shares.size === 0;
  }

  /** Whether this many more places are free. A request that needs more than the total goes out alone. */
  hasRoom(share: CapacityShare, places: number): boolean {
    const free = this.limit - this.taken;
    if (share.held === 0) return free + this.extra >= Math.min(places, this.limit);
    if (free < places) return false;
    const sharers = this.shares.size;
    return sharers === 1 || share.held + places <= this.limit / sharers || free - places >= this.reserve;
  }

  take(share: CapacityShare, places: number): void {
    this.taken += places;
    share.held += places;
  }

  release(share: CapacityShare, places: number): void {
    this.taken -= places;
    share.held -= places;
  }

  /** Resumes a share when it is its turn. */
  wait(share: CapacityShare): void {
    this.ring.add(share);
  }

  get hasWaiting(): boolean {
    return this.ring.size > 0;
  }

  /** Resumes the waiting shares one after the other, until none of them finds room. */
  resume(): void {
    for (let misses = 0; misses < this.ring.size;) {
      const [next] = this.ring;
      if (next === undefined) return;
      this.ring.delete(next);
      if (next.resume(next)) {
        misses = 0;
        continue;
      }
      misses++;
      // When all places are taken, only an idle destination finds room, and it was asked when it arrived.
      if (this.taken >= this.limit) return;
    }
  }
}
