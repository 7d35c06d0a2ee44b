/** What destinations share: the sockets of an origin, or the requests of this process. */
export interface Capacity {
  readonly hasWaiting: boolean;
  readonly isPromised: boolean;
  hasRoom(share: CapacityShare): boolean;
  keepTurn(share: CapacityShare): void;
  take(share: CapacityShare): void;
  release(share: CapacityShare, places?: number): void;
  reservePlaces(share: CapacityShare, places: number): void;
  wait(share: CapacityShare): void;
  resume(): void;
  leave(share: CapacityShare): void;
}

/** One destination's share of a capacity. */
export class CapacityShare {
  /** Places that it holds now. */
  held = 0;
  /** Those of them that were reserved. */
  reserved = 0;
  /** Its turn came before its `rateLimit` allowed the request, or there was room in another capacity that it needs too. */
  hasTurn = false;
  /** Its request takes places beyond the limit. */
  isBeyond = false;
  private hasLongRequests = false;

  /**
   * @param places how many of them each of its requests takes
   * @param resume called when its turn comes after a wait: takes places for one request, waits again if it
   *   wants more, and returns whether it took any
   */
  constructor(
    readonly capacity: Capacity,
    readonly places: number,
    readonly resume: (share: CapacityShare) => boolean,
  ) {}

  /** Its requests hold their places for long, so it gets few of those that are kept free for others. */
  get isSlow(): boolean {
    return this.hasLongRequests;
  }

  set isSlow(isSlow: boolean) {
    this.hasLongRequests = isSlow;
    if (isSlow) this.capacity.reservePlaces(this, 0);
  }
}
