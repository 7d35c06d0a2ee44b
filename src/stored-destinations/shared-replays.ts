import { within } from '../shared/within.js';

/** How long a replay has the others wait, in milliseconds: one that delivers a million messages takes many minutes. */
const LONGEST_WAIT = 5_000;
/** Replays that run at once. */
const MOST = 3;

interface Replay {
  readonly ids: Set<string>;
  readonly done: Promise<void>;
}

/**
 * Delivers what was kept for destinations that are enabled. That reads all jobs that have failed, so one replay
 * waits for the other, though not for long unless many run, and the next one is for all who have asked meanwhile.
 */
export class SharedReplays {
  /** Never rejects. */
  private last: Promise<void> = Promise.resolve();
  /** Has not begun. */
  private next: Replay | undefined;
  private readonly running = new Set<Promise<void>>();

  /** @param replay delivers what was kept for the destinations with these ids */
  constructor(private readonly replay: (ids: ReadonlySet<string>) => Promise<void>) {}

  /** Resolves when what was kept for a destination until now is delivered. */
  of(id: string): Promise<void> {
    this.next ??= this.after(this.last);
    this.next.ids.add(id);
    return this.next.done;
  }

  private after(last: Promise<void>): Replay {
    const ids = new Set<string>();
    const done = this.turnAfter(last).then(() => {
      this.next = undefined;
      return this.run(ids);
    });
    this.last = done.catch(() => undefined);
    return { ids, done };
  }

  private async turnAfter(last: Promise<void>): Promise<void> {
    await within(LONGEST_WAIT, last);
    while (this.running.size >= MOST) await Promise.race(this.running);
  }

  private async run(ids: ReadonlySet<string>): Promise<void> {
    const replay = this.replay(ids);
    const end = replay.catch(() => undefined);
    this.running.add(end);
    await end;
    this.running.delete(end);
    return replay;
  }
}
