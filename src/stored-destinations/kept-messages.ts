import type { DestinationRecord } from '../options/destination-store.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { within } from '../shared/within.js';

/** Longer than any process may still hold a destination for disabled, in milliseconds. */
const LATE_REPLAY = 3_000;
/** How long nothing is read after that, as a multiple of the time that it took. */
const REST = 3;
/** Most names in a line of the log. */
const MAX_NAMES = 5;

/** What was kept for one destination, or for all of a tenant; `undefined`: those without a tenant. */
export type KeptFor = { id: string } | { tenant: string | undefined };

export interface KeptMessagesParts {
  /** Delivers everything that is kept for a destination. */
  replay: (id: string) => Promise<unknown>;
  /** The same for many, those of them that are enabled. */
  replayAll: (destinations: readonly KeptFor[]) => Promise<unknown>;
  onFailed: (destinations: readonly KeptFor[], error: unknown) => void;
  /** Told at the end for what was not delivered until then, or not looked for again. */
  onLost: (destinations: readonly KeptFor[]) => void;
  /** @default the system's */
  clock?: Clock;
}

interface LateReplay {
  readonly destinations: KeptFor;
  readonly due: number;
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
  /** In the order in which they are due. */
  private readonly late = new Map<string, LateReplay>();
  private work: Promise<void> | undefined;
  private timer: Timer | undefined;
  /** Until then nothing is looked for, on the clock. */
  private restUntil = -Infinity;
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
    if (known === undefined) this.late.set(key, { destinations, due });
    else known.next = due;
    this.work ??= this.run().finally(() => {
      this.work = undefined;
    });
  }

  /** Resolves when nothing is left to be delivered, now or later, or after this many milliseconds. */
  async finish(patience: number): Promise<void> {
    this.isFinishing = true;
    this.timer?.cancel();
    this.endPause();
    await within(patience, this.end());
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
    const left = [
      ...this.first.keys(),
      ...Array.from(this.late.values(), ({ destinations }) => destinations),
    ];
    const lost = new Map(left.map((destinations) => [keyOf(destinations), destinations]));
    if (lost.size > 0) this.parts.onLost([...lost.values()]);
  }

  private async end(): Promise<void> {
    while (this.first.size > 0 || this.work !== undefined)
      await Promise.allSettled([...this.first.values(), this.work]);
  }

  private async run(): Promise<void> {
    for (;;) {
      const [first] = this.late.values();
      if (first === undefined || this.isClosed) return;
      const begin = this.isFinishing ? first.due : Math.max(first.due, this.restUntil);
      await this.pause(Math.max(begin - this.clock.now(), 0));
      const begun = this.clock.now();
      await this.replayDue(begun);
      this.restUntil = this.clock.now() + REST * (this.clock.now() - begun);
    }
  }

  private async replayDue(now: number): Promise<void> {
    const due = [...this.late].filter(([, late]) => late.due <= now);
    if (due.length === 0) return;
    const all = due.map(([, { destinations }]) => destinations);
    try {
      await this.parts.replayAll(all);
    } catch (error) {
      if (!this.isClosed) this.parts.onFailed(all, error);
    }
    for (const [key, { destinations, next }] of due) {
      this.late.delete(key);
      if (next !== undefined) this.late.set(key, { destinations, due: next });
    }
  }

  private pause(milliseconds: number): Promise<void> {
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
    return `destinations ${one.tenant === undefined ? 'without a tenant' : `of the tenant "${one.tenant}"`}`;
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
  return destinations.some((one) => ('id' in one ? one.id === id : one.tenant === tenant));
}
