import type { SkippedDestinations } from '../deliveries/replay.js';

/** Number of batches after which an owner lets others go first. */
const SHARE = 500;

/** A search of all failed jobs for the messages that were kept for some destinations. */
export class ReplayRound {
  /** Ids of the destinations. */
  readonly ids = new Set<string>();
  /** Owners who let others go first: not all their messages are delivered. */
  readonly left = new Set<string>();
  /** Resolves to the destinations that could not be looked up. */
  readonly done: Promise<SkippedDestinations>;
  private readonly owners = new Map<string, string>();
  private readonly batches = new Map<string, number>();
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

  add(id: string, owner: string): void {
    this.ids.add(id);
    this.owners.set(id, owner);
    this.batches.set(owner, 0);
  }

  has(owner: string): boolean {
    return this.batches.has(owner);
  }

  /** Whether a batch that was kept for a destination is delivered in this round. Called for each batch. */
  takes(id: string): boolean {
    const owner = this.owners.get(id);
    if (owner === undefined || this.left.has(owner)) return false;
    const count = (this.batches.get(owner) ?? 0) + 1;
    this.batches.set(owner, count);
    if (count <= SHARE || (this.batches.size === 1 && !this.isAwaited())) return true;
    this.left.add(owner);
    if (this.left.size === this.batches.size) this.end.abort();
    return false;
  }
}
