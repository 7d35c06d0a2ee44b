import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { within } from '../shared/within.js';
import { FoundDestinations, type FoundDestinationsParts } from './found-destinations.js';
import { type KeptFor, keyOf } from './kept-for.js';
import { RunningWork } from './running-work.js';

/** Delay of a late replay, in milliseconds: longer than any process may still take a destination for disabled. */
const LATE_REPLAY = 3_000;
/** Longest pause before a destination that could not be looked up is tried again, in milliseconds. */
const LONGEST_RETRY = 300_000;
/** Pause after a search, as a multiple of the time that the search took. */
const REST = 3;

export interface KeptMessagesParts extends Pick<FoundDestinationsParts, 'find' | 'replay'> {
  /** Returns the ids of all destinations for which messages are kept: of these destinations, and maybe of others. */
  search: (among: readonly KeptFor[]) => Promise<ReadonlySet<string>>;
  /** Called when no search was possible. */
  onFailed: (destinations: readonly KeptFor[], error: unknown) => void;
  /** Called once with destinations that could not be looked up or delivered to. They are tried until this succeeds. */
  onSkipped: (destinations: readonly KeptFor[], error: unknown) => void;
  /** Called at the end with the destinations whose messages were not delivered, or not looked for again. */
  onLost: (destinations: readonly KeptFor[]) => void;
  /** @default the system's */
  clock?: Clock;
}

interface LateReplay {
  readonly destinations: KeptFor;
  readonly due: number;
  /** Number of attempts that failed; `undefined` if the destinations have just been changed. */
  readonly failures?: number;
  /** When another replay is due, after a change since this one was requested. */
  next?: number;
}

/**
 * Delivers the messages that were kept for destinations while they were disabled. A worker that has not heard yet that
 * a destination is enabled still keeps the messages that it has in hand. So kept messages are searched for again a
 * little later, for all destinations at once, since each search reads all failed jobs. No search waits until the
 * messages that another one has found are delivered: a tenant may have very many.
 */
export class KeptMessages {
  private readonly clock: Clock;
  /** Look-ups and deliveries that are under way. */
  private readonly running = new RunningWork<KeptFor>();
  private readonly late = new Map<string, LateReplay>();
  /** The latest delivery to each found destination that is under way. */
  private readonly awaited = new Map<string, Promise<unknown>>();
  /** Destinations whose next attempt was not due yet, or that failed again, when the end came. */
  private readonly notFound: KeptFor[] = [];
  private work: Promise<void> | undefined;
  private timer: Timer | undefined;
  /** Time on the clock until which no search begins. */
  private restUntil = -Infinity;
  /** Time on the clock until which `searchWhenDue` pauses. */
  private pausedUntil = -Infinity;
  private endPause: () => void = () => undefined;
  private isFinishing = false;
  private readonly closing = new AbortController();

  constructor(private readonly parts: KeptMessagesParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
  }

  /** Delivers the kept messages of a destination now, and again a little later, even if the first time failed. */
  async deliver(id: string, tenant?: string): Promise<void> {
    const destination = { id };
    if (this.isClosed) {
      this.parts.onLost([destination]);
      return;
    }
    try {
      await this.running.track([destination], this.parts.replay(id, tenant));
    } finally {
      this.deliverLate(destination);
    }
  }

  /** Delivers the kept messages of destinations a little later. */
  deliverLate(destinations: KeptFor): void {
    const key = keyOf(destinations);
    const due = this.clock.now() + LATE_REPLAY;
    const known = this.late.get(key);
    // After a change, the replay is due earlier than the retry of a failed look-up.
    if (known === undefined || known.due > due) this.schedule({ destinations, due });
    else known.next = due;
  }

  /** Resolves when nothing is left to be delivered, now or later, or after this many milliseconds. */
  async finish(patience: number): Promise<void> {
    this.isFinishing = true;
    // Attempts that are not due yet are given up if others have failed: their store has not answered for long.
    const now = this.clock.now();
    for (const [key, { destinations, failures, due }] of this.late) {
      if (failures === undefined || due <= now) continue;
      this.late.delete(key);
      this.notFound.push(destinations);
    }
    this.wake();
    await within(patience, this.end());
  }

  close(): void {
    this.closing.abort();
    this.timer?.cancel();
    const left = [
      ...this.running.subjects,
      ...Array.from(this.late.values(), ({ destinations }) => destinations),
      ...this.notFound,
    ];
    const lost = new Map(left.map((destinations) => [keyOf(destinations), destinations]));
    if (lost.size > 0) this.parts.onLost([...lost.values()]);
  }

  private get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  private async end(): Promise<void> {
    while (this.running.size > 0 || this.work !== undefined)
      await Promise.allSettled([this.running.end(), this.work]);
  }

  private schedule(late: LateReplay): void {
    this.late.set(keyOf(late.destinations), late);
    if (late.due < this.pausedUntil) this.wake();
    if (!this.isClosed) this.work ??= this.searchWhenDue();
  }

  private async searchWhenDue(): Promise<void> {
    while (this.late.size > 0 && !this.isClosed) {
      let due = Infinity;
      for (const late of this.late.values()) due = Math.min(due, late.due);
      const begin = this.isFinishing ? due : Math.max(due, this.restUntil);
      const begun = this.clock.now();
      if (begin > begun) {
        await this.pause(begin - begun);
        continue;
      }
      await this.searchForDue(begun);
      this.restUntil = this.clock.now() + REST * (this.clock.now() - begun);
    }
    // At once: an attempt that has just failed is scheduled in the same turn.
    this.work = undefined;
  }

  private async searchForDue(now: number): Promise<void> {
    const due = [...this.late].filter(([, late]) => late.due <= now);
    const among = due.map(([, { destinations }]) => destinations);
    let found: ReadonlySet<string>;
    try {
      found = await this.parts.search(among);
    } catch (error) {
      if (!this.isClosed) this.searchFailed(due, error);
      return;
    }
    this.take(due);
    if (found.size > 0) void this.running.track([], this.replayFound(found, among, new Map(due)));
  }

  private searchFailed(due: readonly [string, LateReplay][], error: unknown): void {
    const destinations = due.map(([, late]) => late.destinations);
    this.take(due);
    if (this.isFinishing) {
      this.parts.onFailed(destinations, error);
      return;
    }
    const untold = new Map<KeptFor, unknown>();
    for (const [, { destinations: one, failures = 0 }] of due) {
      this.tryAgain(one, failures + 1);
      if (failures === 0) untold.set(one, error);
    }
    this.tell(untold);
  }

  /** Removes what is due, unless it was asked for once more meanwhile. */
  private take(due: readonly [string, LateReplay][]): void {
    for (const [key, { destinations, next }] of due) {
      this.late.delete(key);
      if (next !== undefined) this.late.set(key, { destinations, due: next });
    }
  }

  /** @param before the late replays that the search was for */
  private async replayFound(
    ids: ReadonlySet<string>,
    among: readonly KeptFor[],
    before: ReadonlyMap<string, LateReplay>,
  ): Promise<void> {
    const untold = new Map<KeptFor, unknown>();
    const found = new FoundDestinations({
      find: this.parts.find,
      replay: (id, tenant) => this.replayOnce(id, tenant),
      among,
      clock: this.clock,
      running: this.running,
      closing: this.closing.signal,
      onFailed: (id, error) => {
        const destination = { id };
        const failures = (before.get(keyOf(destination))?.failures ?? 0) + 1;
        this.tryAgain(destination, failures);
        if (failures === 1) untold.set(destination, error);
      },
    });
    await found.lookUp(ids);
    this.tell(untold);
    untold.clear();
    await found.delivered();
    this.tell(untold);
  }

  /** Delivers to a found destination. Does not wait if an earlier search waits for the same delivery. */
  private async replayOnce(id: string, tenant: string | undefined): Promise<void> {
    const replay = this.parts.replay(id, tenant);
    if (this.awaited.get(id) === replay) return;
    this.awaited.set(id, replay);
    try {
      await replay;
    } finally {
      if (this.awaited.get(id) === replay) this.awaited.delete(id);
    }
  }

  private tryAgain(destinations: KeptFor, failures: number): void {
    if (this.isFinishing) this.notFound.push(destinations);
    else if (!this.late.has(keyOf(destinations))) {
      const due = this.clock.now() + Math.min(LATE_REPLAY * 2 ** failures, LONGEST_RETRY);
      this.schedule({ destinations, due, failures });
    }
  }

  private tell(failures: ReadonlyMap<KeptFor, unknown>): void {
    const [error] = failures.values();
    if (failures.size > 0 && !this.isFinishing && !this.isClosed)
      this.parts.onSkipped([...failures.keys()], error);
  }

  private wake(): void {
    this.timer?.cancel();
    this.endPause();
  }

  private pause(milliseconds: number): Promise<void> {
    this.pausedUntil = this.clock.now() + milliseconds;
    return new Promise((resolve) => {
      this.endPause = resolve;
      this.timer = this.clock.afterUnlessIdle(milliseconds, resolve);
    });
  }
}
