import type { KeptSelection, SkippedDestinations } from '../deliveries/replay.js';
import { within } from '../shared/within.js';
import { ReplayRound, SHARE } from './replay-round.js';

/** How long a round makes the next one wait, in milliseconds: a round with a million messages takes many minutes. */
const LONGEST_WAIT = 5_000;
/** Largest share of a round. A share doubles with each round, since each round begins at the first job. */
const LARGEST_SHARE = 16 * SHARE;
/** Maximum number of rounds at once. */
const MOST = 3;

const NONE: SkippedDestinations = new Map();

/**
 * Delivers the messages that were kept for enabled destinations. Each round reads all failed jobs, so it waits for the
 * previous one, though not for long unless many run. The next round serves all callers that have asked meanwhile. An
 * owner is in one round at a time and, while others wait, gets only a share of it: the rest is for another round.
 */
export class SharedReplays {
  /** The latest round. Never rejects. */
  private last: Promise<unknown> = Promise.resolve();
  /** The round that has not begun yet. */
  private next: ReplayRound | undefined;
  /** The rounds that have begun, each with its end. */
  private readonly running = new Map<ReplayRound, Promise<unknown>>();
  /** Calls of `of` whose messages are not being delivered yet, by destination. */
  private readonly waiting = new Map<string, Promise<void>>();

  /** @param replay delivers the selected messages. Rejects if the signal is aborted */
  constructor(private readonly replay: (selection: KeptSelection) => Promise<SkippedDestinations>) {}

  /**
   * Resolves when the messages that were kept for a destination until now are delivered. Rejects if the destination
   * cannot be looked up.
   *
   * @param owner takes turns with other owners
   */
  of(id: string, owner: string): Promise<void> {
    const waiting = this.waiting.get(id);
    if (waiting !== undefined) return waiting;
    const delivered = this.deliver(id, owner);
    this.waiting.set(id, delivered);
    return delivered;
  }

  private async deliver(id: string, owner: string): Promise<void> {
    let round: ReplayRound;
    let share = SHARE;
    do {
      // That round may have passed messages that were kept since.
      for (let end = this.endFor(owner); end !== undefined; end = this.endFor(owner)) await end;
      round = this.next ??= this.after(this.last);
      round.add(id, owner, share);
      share = Math.min(2 * share, LARGEST_SHARE);
      const reason = (await round.done).get(id);
      if (reason !== undefined) throw reason;
    } while (round.left.has(owner));
  }

  /** Returns the end of the running round with messages of an owner. */
  private endFor(owner: string): Promise<unknown> | undefined {
    for (const [round, end] of this.running) if (round.has(owner)) return end;
    return undefined;
  }

  private after(last: Promise<unknown>): ReplayRound {
    const round = new ReplayRound(
      async (self) => {
        await this.turnAfter(last);
        this.next = undefined;
        return this.run(self);
      },
      () => this.next !== undefined && this.running.size >= MOST,
    );
    this.last = round.done.catch(() => undefined);
    return round;
  }

  private async turnAfter(last: Promise<unknown>): Promise<void> {
    await within(LONGEST_WAIT, last);
    while (this.running.size >= MOST) await Promise.race(this.running.values());
  }

  private async run(round: ReplayRound): Promise<SkippedDestinations> {
    const { ids, signal } = round;
    // A later call also concerns messages that this round may have passed by then.
    for (const id of ids) this.waiting.delete(id);
    const replay = this.replay(round);
    const end = replay.catch(() => undefined);
    this.running.set(round, end);
    await end;
    this.running.delete(round);
    return signal.aborted ? NONE : replay;
  }
}
