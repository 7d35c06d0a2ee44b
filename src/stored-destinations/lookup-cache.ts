import type { Clock } from '../shared/clock.js';
import { type LookupTurn, LookupTurns } from './lookup-turns.js';

/** Maximum number of look-ups that run at once: they share the queue's connections with the queue. */
const MAX_RUNNING = 8;
/** Maximum number of slow look-ups beside these: as many as are tried while the store is silent, so turns continue. */
const MAX_SLOW = 40;
/** Milliseconds after which a look-up is slow. */
const SLOW = 250;

/** The asker if it does not matter who asks. */
const ANYBODY: readonly string[] = [''];

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
  /** Clock that finds slow look-ups, so that they hold up no others. @default they all end soon */
  slowBy?: Clock | undefined;
  /** Whether an answer is older than a change. @default only if its key was forgotten */
  isOutdated?: (value: V) => boolean;
}

/**
 * Remembers the results of look-ups until they are forgotten or have to make room for later keys. Callers that ask at
 * the same time share one look-up. If something changes meanwhile, the look-up is repeated, but only once, so that it
 * ends however often that happens. No caller gets a result from before a change that preceded its call.
 */
export class LookupCache<V extends object> {
  private recent = new Map<string, V>();
  private older = new Map<string, V>();
  private readonly running = new Map<string, Lookup<V>>();
  private readonly turns: LookupTurns;
  private readonly isOutdated: (value: V) => boolean;

  constructor(
    private readonly look: (key: string) => Promise<V>,
    private readonly options: LookupCacheOptions<V>,
  ) {
    this.turns = new LookupTurns(MAX_RUNNING, options.slowBy === undefined ? 0 : MAX_SLOW);
    this.isOutdated = options.isOutdated ?? (() => false);
  }

  get(key: string): V | undefined {
    const value = this.recent.get(key) ?? this.fromOlder(key);
    return value === undefined || this.isOutdated(value) ? undefined : value;
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
    const running = this.running.get(key);
    if (running !== undefined) running.isOutdated = true;
  }

  clear(): void {
    this.recent.clear();
    this.older.clear();
    for (const lookup of this.running.values()) lookup.isOutdated = true;
  }

  private async run(key: string, turn: LookupTurn): Promise<V> {
    if (!turn.hasBegun) await turn.begun;
    const slow = this.options.slowBy?.afterUnlessIdle(SLOW, () => {
      this.turns.setAside(turn);
    });
    try {
      for (;;) {
        const value = await this.look(key);
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

  private fromOlder(key: string): V | undefined {
    const older = this.older.get(key);
    if (older !== undefined) this.keep(key, older);
    return older;
  }

  private keep(key: string, value: V): void {
    if (this.recent.size >= this.options.size / 2) {
      this.older = this.recent;
      this.recent = new Map();
    }
    this.recent.set(key, value);
  }
}
