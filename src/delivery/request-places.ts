import type { CapacityShare } from './capacity-share.js';

/**
 * The places that one request holds. If it goes to several URLs, the places of each URL are given back as soon as that
 * URL has answered: others wait for the sockets of its origin, while another URL may take long.
 */
export class RequestPlaces {
  /** Whether the request has been sent. Until then, the caller that sends it goes on by itself. */
  isSent = false;
  /** How many places of each share the request still holds; `undefined` if it holds all. */
  private held: number[] | undefined;

  /**
   * @param shares the share of the process, then those of the origins, in the order of the URLs
   * @param origins origins of the URLs
   */
  constructor(
    readonly shares: readonly CapacityShare[],
    private readonly origins: readonly string[],
  ) {}

  get areAllHeld(): boolean {
    return this.held === undefined;
  }

  /** Callback for a URL that has answered before others; `undefined` if there is only one URL. */
  get answered(): ((origin: string) => void) | undefined {
    if (this.origins.length < 2) return undefined;
    return (origin) => {
      const ofOrigin = Array.from(new Set(this.origins)).indexOf(origin) + 1;
      if (ofOrigin > 0) for (const index of [0, ofOrigin]) this.releaseOne(index);
    };
  }

  /** Gives back the places that are still held, since all URLs have answered. */
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
