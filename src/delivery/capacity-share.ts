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
  /** Places that the destination holds now. */
  held = 0;
  /** How many of the held places are reserved ones. */
  reserved = 0;
  /** Whether its turn came before its `rateLimit` allowed the request or another needed capacity had room. */
  hasTurn = false;
  /** Whether its request takes places beyond the limit. */
  isBeyond = false;
  private hasLongRequests = false;

  /**
   * @param places how many places each request takes
   * @param resume called when the share's turn comes after a wait: takes places for one request, waits again if it
   *   wants more, and returns whether it took any
   */
  constructor(
    readonly capacity: Capacity,
    readonly places: number,
    readonly resume: (share: CapacityShare) => boolean,
  ) {}

  /** Whether its requests hold their places for long, so that it gets few of those kept free for others. */
  get isSlow(): boolean {
    return this.hasLongRequests;
  }

  set isSlow(isSlow: boolean) {
    this.hasLongRequests = isSlow;
    if (isSlow) this.capacity.reservePlaces(this, 0);
  }
}
