import type { CapacityShare } from './capacity-share.js';

/**
 * The places that one request holds. Of several URLs, each gives its own back as soon as it has answered: others wait for
 * the sockets of its origin, while another URL may take long.
 */
export class RequestPlaces {
  /** Whether the request has been sent. Until then, whoever sends it goes on by itself. */
  isSent = false;
  /** How many of the places of each share it still holds; `undefined` for all. */
  private held: number[] | undefined;

  /**
   * @param shares that of the process, and then those of the origins, in the order of the URLs
   * @param origins of the URLs
   */
  constructor(
    readonly shares: readonly CapacityShare[],
    private readonly origins: readonly string[],
  ) {}

  get areAllHeld(): boolean {
    return this.held === undefined;
  }

  /** What a URL calls that has answered before others; `undefined` if there is only one. */
  get answered(): ((origin: string) => void) | undefined {
    if (this.origins.length < 2) return undefined;
    return (origin) => {
      const ofOrigin = Array.from(new Set(this.origins)).indexOf(origin) + 1;
      if (ofOrigin > 0) for (const index of [0, ofOrigin]) this.releaseOne(index);
    };
  }

  /** All URLs have answered. */
  release(): void {
    this.shares.forEach((share, index) => {
      const left = this.held?.[index] ?? share.places;
      if (left > 0) share.capacity.release(share, left);
    });
  }

  private releaseOne(index: number): void {
    this.held ??= this.shares.map(({ places }) => places);
    const [share, left = 0] = [this.shares[index], this.held[index]];
    if (share === undefined || left === 0) return;
    this.held[index] = left - 1;
    share.capacity.release(share, 1);
    if (this.isSent && share.capacity.hasWaiting) share.capacity.resume();
  }
}
