import type { DestinationRecord } from '../options/destination-store.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { within } from '../shared/within.js';

/** Delay of a late replay, in milliseconds: longer than any process may still take a destination for disabled. */
const LATE_REPLAY = 3_000;
/** Longest pause before a destination that could not be looked up is tried again, in milliseconds. */
const LONGEST_RETRY = 300_000;
/** Pause after a late replay, as a multiple of the time that the replay took. */
const REST = 3;
/** Most names in a line of the log. */
const MAX_NAMES = 5;

/** One destination, or all of a tenant. A tenant of `undefined`: all destinations, with and without a tenant. */
export type KeptFor = { id: string } | { tenant: string | undefined };

export interface KeptMessagesParts {
  /** Delivers everything that is kept for a destination of this tenant. Tenants take turns. */
  replay: (id: string, tenant: string | undefined) => Promise<unknown>;
  /** The same for many destinations, if they are enabled. Resolves to the ids of those that could not be looked up. */
  replayAll: (destinations: readonly KeptFor[]) => Promise<readonly string[]>;
  onFailed: (destinations: readonly KeptFor[], error: unknown) => void;
  /** Called once with destinations that could not be looked up. They are looked up again until this succeeds. */
  onSkipped: (destinations: readonly KeptFor[]) => void;
  /** Called at the end with the destinations whose messages were not delivered, or not looked for again. */
  onLost: (destinations: readonly KeptFor[]) => void;
  /** @default the system's */
  clock?: Clock;
}

interface LateReplay {
  readonly destinations: KeptFor;
  readonly due: number;
  /** Number of look-ups that failed; `undefined` if the destinations have just been changed. */
  readonly failures?: number;
  /** When another replay is due, after a change since this one was requested. */
  next?: number;
}

/**
 * Delivers the messages that were kept for destinations while they were disabled. A worker that has not heard yet that
 * a destination is enabled still keeps the messages that it has in hand. So kept messages are looked for again a little
 * later, for all destinations at once, since each replay reads all failed jobs.
 */
export class KeptMessages {
  private readonly clock: Clock;
  /** First replays that are running: one for each call of `deliver`. */
  private readonly first = new Map<KeptFor, Promise<unknown>>();
  private readonly late = new Map<string, LateReplay>();
  /** Destinations that could not be looked up when the end came. */
  private readonly notFound: KeptFor[] = [];
  private work: Promise<void> | undefined;
  private timer: Timer | undefined;
  /** Time on the clock until which no late replay begins. */
  private restUntil = -Infinity;
  /** Time on the clock until which `run` pauses. */
  private pausedUntil = -Infinity;
  private endPause: () => void = () => undefined;
  private isFinishing = false;
  private isClosed = false;

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
    const replay = this.parts.replay(id, tenant);
    this.first.set(destination, replay);
    try {
      await replay;
    } finally {
      this.first.delete(destination);
      this.deliverLate(destination);
    }
  }

  /** Delivers the kept messages of destinations a little later. */
  deliverLate(destinations: KeptFor): void {
    const key = keyOf(destinations);
    const due = this.clock.now() + LATE_REPLAY;
    const known = this.late.get(key);
    // After a change, the replay is due earlier than the retry of a failed look-up.
    if (known === undefined || known.due > due) this.late.set(key, { destinations, due });
    else known.next = due;
    if (due < this.pausedUntil) this.wake();
    this.work ??= this.run().finally(() => {
      this.work = undefined;
    });
  }

  /** Resolves when nothing is left to be delivered, now or later, or after this many milliseconds. */
  async finish(patience: number): Promise<void> {
    this.isFinishing = true;
    // Retries of failed look-ups that are not due yet are given up: their store has not answered for long.
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
    this.isClosed = true;
    this.timer?.cancel();
    const left = [
      ...this.first.keys(),
      ...Array.from(this.late.values(), ({ destinations }) => destinations),
      ...this.notFound,
    ];
    const lost = new Map(left.map((destinations) => [keyOf(destinations), destinations]));
    if (lost.size > 0) this.parts.onLost([...lost.values()]);
  }

  private async end(): Promise<void> {
    while (this.first.size > 0 || this.work !== undefined)
      await Promise.allSettled([...this.first.values(), this.work]);
  }

  private async run(): Promise<void> {
    while (this.late.size > 0 && !this.isClosed) {
      let due = Infinity;
      for (const late of this.late.values()) due = Math.min(due, late.due);
      const begin = this.isFinishing ? due : Math.max(due, this.restUntil);
      const begun = this.clock.now();
      if (begin > begun) {
        await this.pause(begin - begun);
        continue;
      }
      await this.replayDue(begun);
      this.restUntil = this.clock.now() + REST * (this.clock.now() - begun);
    }
  }

  private async replayDue(now: number): Promise<void> {
    const due = [...this.late].filter(([, late]) => late.due <= now);
    const all = due.map(([, { destinations }]) => destinations);
    let skipped: readonly string[] = [];
    try {
      skipped = await this.parts.replayAll(all);
    } catch (error) {
      if (!this.isClosed) this.parts.onFailed(all, error);
    }
    for (const [key, { destinations, next }] of due) {
      this.late.delete(key);
      if (next !== undefined) this.late.set(key, { destinations, due: next });
    }
    if (!this.isClosed) this.lookAgain(skipped, new Map(due));
  }

  /** Schedules another try for skipped destinations. @param before the replays that skipped them */
  private lookAgain(skipped: readonly string[], before: ReadonlyMap<string, LateReplay>): void {
    const told: KeptFor[] = [];
    for (const id of skipped) {
      const destinations = { id };
      const key = keyOf(destinations);
      const failures = (before.get(key)?.failures ?? 0) + 1;
      if (failures === 1) told.push(destinations);
      if (this.isFinishing) this.notFound.push(destinations);
      else if (!this.late.has(key)) {
        const due = this.clock.now() + Math.min(LATE_REPLAY * 2 ** failures, LONGEST_RETRY);
        this.late.set(key, { destinations, due, failures });
      }
    }
    if (told.length > 0 && !this.isFinishing) this.parts.onSkipped(told);
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

function keyOf(destinations: KeptFor): string {
  return JSON.stringify(destinations);
}

/** Names destinations in words, for the log. */
export function namesOf(destinations: readonly KeptFor[]): string {
  const names = destinations.slice(0, MAX_NAMES).map((one) => {
    if ('id' in one) return `the destination "${one.id}"`;
    return one.tenant === undefined ? 'all destinations' : `destinations of the tenant "${one.tenant}"`;
  });
  const more = destinations.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

/** Returns the ids of these destinations, or `undefined` if some are only given by their tenant. */
export function idsOf(destinations: readonly KeptFor[]): ReadonlySet<string> | undefined {
  const ids = new Set<string>();
  for (const one of destinations) {
    if (!('id' in one)) return undefined;
    ids.add(one.id);
  }
  return ids;
}

export function isAmong({ id, tenant }: DestinationRecord, destinations: readonly KeptFor[]): boolean {
  return destinations.some((one) => ('id' in one ? one.id === id : (one.tenant ?? tenant) === tenant));
}
