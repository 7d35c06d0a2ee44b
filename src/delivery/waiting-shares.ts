import type { CapacityShare } from './capacity-share.js';

/** Destinations that wait for places of a capacity, in turn, with subsets that may take places that others may not. */
export class WaitingShares {
  readonly all = new Set<CapacityShare>();
  /**
   * Destinations that may have reserved places. They are kept apart because what is left free is mostly the reserve:
   * asking all destinations after each request would take longer than the request.
   */
  readonly preferred = new Set<CapacityShare>();
  /** Quick destinations that hold no places, and may have some beyond the limit. */
  readonly idle = new Set<CapacityShare>();
  readonly slow = new Set<CapacityShare>();

  /** Adds a destination, or updates what is known of it. */
  add(share: CapacityShare, isPreferred: boolean): void {
    this.all.add(share);
    note(this.slow, share, share.isSlow);
    note(this.preferred, share, isPreferred);
    note(this.idle, share, share.held === 0 && !share.isSlow);
  }

  remove(share: CapacityShare): void {
    for (const set of [this.all, this.preferred, this.idle, this.slow]) set.delete(share);
  }
}

function note(set: Set<CapacityShare>, share: CapacityShare, isOne: boolean): void {
  if (isOne) set.add(share);
  else set.delete(share);
}
