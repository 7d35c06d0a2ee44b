import type { KeptSelection, SkippedDestinations } from '../deliveries/replay.js';

/** What a batch costs apart from its messages, each of which costs 1. There may be one or hundreds. */
const COST_OF_BATCH = 4;
/** Cost after which an owner lets others go first: that of 500 batches with one message. */
export const SHARE = 500 * (COST_OF_BATCH + 1);

/** A search of all failed jobs for the messages that were kept for some destinations. */
export class ReplayRound implements KeptSelection {
  /** Ids of the destinations. */
  readonly ids = new Set<string>();
  /** Owners who let others go first: not all their messages are delivered. */
  readonly left = new Set<string>();
  /** Resolves to the destinations that could not be looked up. */
  readonly done: Promise<SkippedDestinations>;
  private readonly owners = new Map<string, string>();
  /** What is left of each owner's share. It may be less than a batch costs, or nothing. */
  private readonly shares = new Map<string, number>();
  private readonly end = new AbortController();

  /**
   * @param run begins the round when its turn comes, and ends with it
   * @param isAwaited whether somebody waits for the end of a round
   */
  constructor(
    run: (round: ReplayRound) => Promise<SkippedDestinations>,
    private readonly isAwaited: () => boolean,
  ) {
    this.done = run(this);
  }

  /** Aborted when nothing more is to be delivered. */
  get signal(): AbortSignal {
    return this.end.signal;
  }

  /** @param share cost after which the owner lets others go first */
  add(id: string, owner: string, share: number): void {
    this.ids.add(id);
    this.owners.set(id, owner);
    this.shares.set(owner, Math.max(share, this.shares.get(owner) ?? 0));
  }

  has(owner: string): boolean {
    return this.shares.has(owner);
  }

  mayTake(id: string): boolean {
    const owner = this.owners.get(id);
    return owner !== undefined && !this.left.has(owner);
  }

  /**
   * Whether a batch that was kept for a destination is delivered in this round. Called for each batch that can be: what
   * is kept for a destination that is disabled again must not use up the share of its owner.
   *
   * @param messages number of messages in the batch
   */
  takes(id: string, messages: number): boolean {
    const owner = this.owners.get(id);
    if (owner === undefined || this.left.has(owner)) return false;
    const share = this.shares.get(owner) ?? 0;
    this.shares.set(owner, share - COST_OF_BATCH - messages);
    if (share > 0 || (this.shares.size === 1 && !this.isAwaited())) return true;
    this.left.add(owner);
    if (this.left.size === this.shares.size) this.end.abort();
    return false;
  }
}
