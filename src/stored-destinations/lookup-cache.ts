import type { Clock } from '../shared/clock.js';
import { OwnContext } from '../shared/own-context.js';
import { type LookupTurn, LookupTurns } from './lookup-turns.js';

/** Maximum number of look-ups that run at once, unless caches share their turns. */
const MAX_RUNNING = 8;
/** Maximum number of slow look-ups beside these: as many as are tried while the store is silent, so turns continue. */
const MAX_SLOW = 40;
/** Milliseconds after which a look-up is slow. */
const SLOW = 250;
/** How long a result is used before it is looked up again, in milliseconds: the notice of a change may be lost. */
const MAX_AGE = 300_000;
/** Maximum number of results that are looked up again at once, … */
const MAX_RENEWING = 2;
/** … beside this many whose look-ups are slow, … */
const MAX_SLOWLY_RENEWING = 4;
/** … and between two calls of `pass`. */
const MAX_RENEWED = 100;
/** How many of these a failed look-up counts for: the store may be away, and then answers none. */
const FAILED_COUNTS_FOR = 20;

/** The asker if it does not matter who asks. */
const ANYBODY: readonly string[] = [''];
/** The asker for results that are looked up again. No source has this name. */
const RENEWAL: readonly string[] = ['\u0000'];

/** A result, and when it was read, by the time of `pass`. */
interface Entry<V> {
  readonly value: V;
  readonly readAt: number;
}

interface Lookup<V> {
  readonly turn: LookupTurn;
  readonly result: Promise<V>;
  /** Whether the pending answer may be older than a change. */
  isOutdated: boolean;
  /** Whether the look-up is repeated, because its first answer was outdated. */
  isRepeated: boolean;
}

export interface LookupCacheOptions<V> {
  /** Maximum number of entries. None is dropped before half of this number is reached. */
  size: number;
  /** Turns that this cache shares with others. @default its own */
  turns?: LookupTurns | undefined;
  /** Clock that finds slow look-ups, so that they hold up no others. @default they all end soon */
  slowBy?: Clock | undefined;
  /** Whether an answer is older than a change. @default only if its key was forgotten */
  isOutdated?: (value: V) => boolean;
  /** Called when a result was looked up again. Returns the result to remember. @default the new one */
  renewed?: (key: string, known: V, value: V) => V;
}

/**
 * Remembers the results of look-ups until they are forgotten or have to make room for later keys. Callers that ask at
 * the same time share one look-up. If something changes meanwhile, the look-up is repeated, but only once, so that it
 * ends however often that happens. No caller gets a result from before a change that preceded its call.
 *
 * A result that is in use for long is looked up again from time to time, while callers get the old one.
 */
export class LookupCache<V extends object> {
  private recent = new Map<string, Entry<V>>();
  private older = new Map<string, Entry<V>>();
  /** Equal results of the same time share an entry, so that it stays in the processor's cache. */
  private latest: Entry<V> | undefined;
  private readonly running = new Map<string, Lookup<V>>();
  private readonly turns: LookupTurns;
  private readonly isOutdated: (value: V) => boolean;
  private readonly context = new OwnContext();
  private time = 0;
  /** Entries that were read before this time are looked up again. */
  private dueBefore = -Infinity;
  /** Keys of results that are to be looked up again. */
  private readonly due = new Set<string>();
  /** Keys of results that are being looked up again. */
  private readonly renewing = new Set<string>();
  /** Number of results that were looked up again since the last call of `pass`. */
  private renewals = 0;
  private isClosed = false;

  constructor(
    private readonly look: (key: string) => Promise<V>,
    private readonly options: LookupCacheOptions<V>,
  ) {
    const { turns, slowBy } = options;
    this.turns = turns ?? new LookupTurns(MAX_RUNNING, slowBy === undefined ? 0 : MAX_SLOW);
    this.isOutdated = options.isOutdated ?? (() => false);
  }

  /** Tells the time, in milliseconds. Call this about once a second: each result would need a look at the clock. */
  pass(time: number): void {
    this.time = time;
    this.dueBefore = time - MAX_AGE;
    this.renewals = 0;
    this.renewDue();
  }

  get(key: string): V | undefined {
    const entry = this.recent.get(key) ?? this.fromOlder(key);
    if (entry === undefined || this.isOutdated(entry.value)) return undefined;
    if (entry.readAt < this.dueBefore) this.renewLater(key, entry.value);
    return entry.value;
  }

  /**
   * Looks a key up, or joins its running look-up. Rejects if the look-up does.
   *
   * @param askers who ask for the key, and take turns
   */
  load(key: string, askers: Iterable<string> = ANYBODY): Promise<V> {
    const running = this.running.get(key);
    if (running === undefined) {
      const turn = this.turns.take(askers);
      const result = this.run(key, turn).finally(() => this.running.delete(key));
      this.running.set(key, { turn, result, isOutdated: false, isRepeated: false });
      return result;
    }
    if (running.isRepeated) {
      // The result may be older than a change that this caller knows of.
      const again = (): V | Promise<V> => this.get(key) ?? this.load(key, askers);
      return running.result.then(again, again);
    }
    for (const asker of askers) this.join(key, asker);
    return running.result;
  }

  /** Adds an asker to the look-up of a key, if one is running. */
  join(key: string, asker: string): void {
    const running = this.running.get(key);
    if (running !== undefined) this.turns.join(running.turn, asker);
  }

  /** Whether the running look-up of a key is repeated, because its first answer was outdated. */
  isRepeating(key: string): boolean {
    return this.running.get(key)?.isRepeated === true;
  }

  /** Forgets the value of a key, which may be wrong from now on. */
  forget(key: string): void {
    this.recent.delete(key);
    this.older.delete(key);
    this.due.delete(key);
    const running = this.running.get(key);
    if (running !== undefined) running.isOutdated = true;
  }

  clear(): void {
    this.recent.clear();
    this.older.clear();
    this.due.clear();
    for (const lookup of this.running.values()) lookup.isOutdated = true;
  }

  /** Looks nothing up again from now on. */
  close(): void {
    this.due.clear();
    this.isClosed = true;
  }

  private async run(key: string, turn: LookupTurn): Promise<V> {
    if (!turn.hasBegun) await turn.begun;
    const slow = this.options.slowBy?.afterUnlessIdle(SLOW, () => {
      this.turns.setAside(turn);
    });
    try {
      for (;;) {
        const value = this.renewed(key, await this.look(key));
        const lookup = this.running.get(key);
        if (lookup?.isOutdated !== true && !this.isOutdated(value)) {
          this.keep(key, value);
          return value;
        }
        // Later callers look the key up again.
        if (lookup === undefined || lookup.isRepeated) return value;
        lookup.isOutdated = false;
        lookup.isRepeated = true;
      }
    } finally {
      slow?.cancel();
      this.turns.end(turn);
    }
  }

  /** Lets the key be looked up again. Until then the entry counts as new, so that `get` stays as fast as it is. */
  private renewLater(key: string, value: V): void {
    if (this.isClosed || this.due.size >= this.options.size) return;
    this.keep(key, value);
    this.due.add(key);
    this.renewDue();
  }

  private renewDue(): void {
    for (const key of this.due) {
      if (this.renewals >= MAX_RENEWED || this.isRenewingEnough) return;
      this.due.delete(key);
      this.renewing.add(key);
      this.renewals++;
      // A caller's transaction does not concern the others.
      void this.context.run(() => this.renew(key));
    }
  }

  private get isRenewingEnough(): boolean {
    let slow = 0;
    for (const key of this.renewing) if (this.running.get(key)?.turn.isAside === true) slow++;
    return this.renewing.size >= MAX_RENEWING + Math.min(slow, MAX_SLOWLY_RENEWING);
  }

  private async renew(key: string): Promise<void> {
    try {
      await this.load(key, RENEWAL);
    } catch {
      // The old result stays in use. Callers who wait for other results report an outage.
      this.renewals += FAILED_COUNTS_FOR - 1;
    }
    this.renewing.delete(key);
    this.renewDue();
  }

  private renewed(key: string, value: V): V {
    const known = (this.recent.get(key) ?? this.older.get(key))?.value;
    if (known === undefined || this.isOutdated(known)) return value;
    return this.options.renewed?.(key, known, value) ?? value;
  }

  private fromOlder(key: string): Entry<V> | undefined {
    const older = this.older.get(key);
    if (older !== undefined) this.put(key, older);
    return older;
  }

  private keep(key: string, value: V): void {
    const { latest, time } = this;
    const isShared = latest?.value === value && latest.readAt === time;
    this.put(key, isShared ? latest : (this.latest = { value, readAt: time }));
  }

  private put(key: string, entry: Entry<V>): void {
    if (this.recent.size >= this.options.size / 2) {
      this.older = this.recent;
      this.recent = new Map();
    }
    this.recent.set(key, entry);
  }
}
