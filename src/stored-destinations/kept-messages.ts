import type { DestinationRecord } from '../options/destination-store.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { within } from '../shared/within.js';

/** Longer than any process may still hold a destination for disabled, in milliseconds. */
const LATE_REPLAY = 3_000;
/** The longest pause before another attempt for what could not be looked up, in milliseconds. */
const LONGEST_RETRY = 300_000;
/** How long nothing is read after that, as a multiple of the time that it took. */
const REST = 3;
/** Most names in a line of the log. */
const MAX_NAMES = 5;

/** What was kept for one destination, or for all of a tenant; `undefined`: all, with and without a tenant. */
export type KeptFor = { id: string } | { tenant: string | undefined };

export interface KeptMessagesParts {
  /** Delivers everything that is kept for a destination. */
  replay: (id: string) => Promise<unknown>;
  /** The same for many, those of them that are enabled. Resolves to the ids of all that could not be looked up. */
  replayAll: (destinations: readonly KeptFor[]) => Promise<readonly string[]>;
  onFailed: (destinations: readonly KeptFor[], error: unknown) => void;
  /** Told once of those that could not be looked up. They are looked for until they can be. */
  onSkipped: (destinations: readonly KeptFor[]) => void;
  /** Told at the end for what was not delivered until then, or not looked for again. */
  onLost: (destinations: readonly KeptFor[]) => void;
  /** @default the system's */
  clock?: Clock;
}

interface LateReplay {
  readonly destinations: KeptFor;
  readonly due: number;
  /** How often they could not be looked up; `undefined` if they have just been changed. */
  readonly failures?: number;
  /** When the next one is due, for a change since this one was asked for. */
  next?: number;
}

/**
 * Delivers what was kept for destinations while they were disabled. A worker that has not heard yet that one is
 * enabled keeps what it has in hand, so it is looked for once more a little later: all of it at once, since that
 * reads all jobs that have failed.
 */
export class KeptMessages {
  private readonly clock: Clock;
  /** What is delivered for the first time, once for each call. */
  private readonly first = new Map<KeptFor, Promise<unknown>>();
  private readonly late = new Map<string, LateReplay>();
  /** What could not be looked up when the end came. */
  private readonly notFound: KeptFor[] = [];
  private work: Promise<void> | undefined;
  private timer: Timer | undefined;
  /** Until then nothing is looked for, on the clock. */
  private restUntil = -Infinity;
  /** On the clock. */
  private pausedUntil = -Infinity;
  private endPause: () => void = () => undefined;
  private isFinishing = false;
  private isClosed = false;

  constructor(private readonly parts: KeptMessagesParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
  }

  /** Delivers it now, and once more a little later, even if it could not be delivered now. */
  async deliver(id: string): Promise<void> {
    const destination = { id };
    if (this.isClosed) {
      this.parts.onLost([destination]);
      return;
    }
    const replay = this.parts.replay(id);
    this.first.set(destination, replay);
    try {
      await replay;
    } finally {
      this.first.delete(destination);
      this.deliverLate(destination);
    }
  }

  /** Delivers it a little later. */
  deliverLate(destinations: KeptFor): void {
    const key = keyOf(destinations);
    const due = this.clock.now() + LATE_REPLAY;
    const known = this.late.get(key);
    // It is due earlier than what could not be looked up.
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
    // A store that has not answered for long is not waited for.
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

  /** @param before what was looked for */
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

/** In words, for the log. */
export function namesOf(destinations: readonly KeptFor[]): string {
  const names = destinations.slice(0, MAX_NAMES).map((one) => {
    if ('id' in one) return `the destination "${one.id}"`;
    return one.tenant === undefined ? 'all destinations' : `destinations of the tenant "${one.tenant}"`;
  });
  const more = destinations.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

/** The ids of these destinations; `undefined` if some are known by their tenant alone. */
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
