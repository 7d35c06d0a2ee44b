import type { SkippedDestinations } from '../deliveries/replay.js';
import { within } from '../shared/within.js';

/** How long a replay makes the next one wait, in milliseconds: a replay of a million messages takes many minutes. */
const LONGEST_WAIT = 5_000;
/** Maximum number of replays that run at once. */
const MOST = 3;

interface Replay {
  readonly ids: Set<string>;
  /** Resolves to the destinations that could not be looked up. */
  readonly done: Promise<SkippedDestinations>;
}

/**
 * Delivers the messages that were kept for enabled destinations. Each replay reads all failed jobs, so it waits for the
 * previous one, though not for long unless many run. The next replay serves all callers that have asked meanwhile.
 */
export class SharedReplays {
  /** The latest replay. Never rejects. */
  private last: Promise<unknown> = Promise.resolve();
  /** The replay that has not begun yet. */
  private next: Replay | undefined;
  private readonly running = new Set<Promise<unknown>>();

  /** @param replay delivers the messages that were kept for the destinations with these ids */
  constructor(private readonly replay: (ids: ReadonlySet<string>) => Promise<SkippedDestinations>) {}

  /**
   * Resolves when the messages that were kept for a destination until now are delivered. Rejects if the destination
   * cannot be looked up.
   */
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
