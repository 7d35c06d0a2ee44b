import type { SkippedDestinations } from '../deliveries/replay.js';
import { within } from '../shared/within.js';

/** How long a replay has the others wait, in milliseconds: one that delivers a million messages takes many minutes. */
const LONGEST_WAIT = 5_000;
/** Replays that run at once. */
const MOST = 3;

interface Replay {
  readonly ids: Set<string>;
  /** Resolves to those of them that could not be looked up. */
  readonly done: Promise<SkippedDestinations>;
}

/**
 * Delivers what was kept for destinations that are enabled. That reads all jobs that have failed, so one replay
 * waits for the other, though not for long unless many run, and the next one is for all who have asked meanwhile.
 */
export class SharedReplays {
  /** Never rejects. */
  private last: Promise<unknown> = Promise.resolve();
  /** Has not begun. */
  private next: Replay | undefined;
  private readonly running = new Set<Promise<unknown>>();

  /** @param replay delivers what was kept for the destinations with these ids */
  constructor(private readonly replay: (ids: ReadonlySet<string>) => Promise<SkippedDestinations>) {}

  /** Resolves when what was kept for a destination until now is delivered. Rejects if it cannot be looked up. */
  async of(id: string): Promise<void> {
    this.next ??= this.after(this.last);
    const { ids, done } = this.next;
    ids.add(id);
    const reason = (await done).get(id);
    if (reason !== undefined) throw reason;
  }

  private after(last: Promise<unknown>): Replay {
    const ids = new Set<string>();
    const done = this.turnAfter(last).then(() => {
      this.next = undefined;
      return this.run(ids);
    });
    this.last = done.catch(() => undefined);
    return { ids, done };
  }

  private async turnAfter(last: Promise<unknown>): Promise<void> {
    await within(LONGEST_WAIT, last);
    while (this.running.size >= MOST) await Promise.race(this.running);
  }

  private async run(ids: ReadonlySet<string>): Promise<SkippedDestinations> {
    const replay = this.replay(ids);
    const end = replay.catch(() => undefined);
    this.running.add(end);
    await end;
    this.running.delete(end);
    return replay;
  }
}
