import { AudienceBusyError } from '../errors/audience.errors.js';
import type { AudienceDefinition, AudienceLockKind, AudienceStore } from '../options/audience-store.js';
import { Mutex } from '../shared/mutex.js';
import { AudienceLock, type LockTerms } from './audience-lock.js';

/**
 * Pause before the next step if another process waits for the lock, in milliseconds. It is longer than the time
 * between two attempts to take the lock.
 */
const YIELD = 75;

/**
 * Longest wait for a single step, in lock durations without a renewal: a process may have died while it held
 * the lock.
 */
const PATIENCE = 4;

export interface ChangeStepsOptions {
  /** Milliseconds after which the lock of a process that died is free. */
  lockDuration: number;
  /** Aborted when syncs are to end because the application shuts down. Its reason is the error to throw. */
  signal: AbortSignal;
}

/**
 * Runs the changes of an audience one step at a time. A sync of millions of users takes many steps, so that others
 * can add or remove a single user in between.
 */
export class ChangeSteps {
  /**
   * Turns by trait, kept while the trait is being changed or synced. Callers in this process wait in line for each
   * other instead of polling the lock.
   */
  private readonly turns: Record<AudienceLockKind, Map<string, Mutex>> = {
    change: new Map(),
    sync: new Map(),
  };

  constructor(
    private readonly store: AudienceStore,
    private readonly options: ChangeStepsOptions,
  ) {}

  /**
   * @param wait longest wait for other changes, in this process and in others, in milliseconds; `since` is the time at
   *   which the wait began, by `performance.now()`
   * @throws AudienceBusyError, AudienceLockLostError
   */
  async run<T>(
    audience: AudienceDefinition,
    step: (lock: AudienceLock) => Promise<T>,
    { wait, since }: { wait?: number | undefined; since?: number } = {},
  ): Promise<T> {
    const { lockDuration: duration } = this.options;
    const terms = { wait: wait ?? duration * PATIENCE, since, duration };
    return this.inTurn(audience, 'change', terms, async (lock) => {
      try {
        return await step(lock);
      } finally {
        if (await lock.release()) await new Promise((resolve) => setTimeout(resolve, YIELD).unref());
      }
    });
  }

  /** Runs a sync or a deletion, which exclude each other. Others may still make single changes meanwhile. */
  async runSync<T>(
    audience: AudienceDefinition,
    wait: number,
    work: (lock: AudienceLock) => Promise<T>,
  ): Promise<T> {
    const { lockDuration: duration, signal } = this.options;
    return this.inTurn(audience, 'sync', { wait, duration, signal }, async (lock) => {
      try {
        return await work(lock);
      } finally {
        await lock.release();
      }
    });
  }

  private async inTurn<T>(
    audience: AudienceDefinition,
    kind: AudienceLockKind,
    terms: LockTerms,
    work: (lock: AudienceLock) => Promise<T>,
  ): Promise<T> {
    const { wait, since = performance.now(), signal } = terms;
    signal?.throwIfAborted();
    const turns = this.turns[kind];
    const turn = turns.get(audience.trait) ?? new Mutex();
    turns.set(audience.trait, turn);
    const endTurn = await turn.acquireWithin(Math.max(since + wait - performance.now(), 0), signal);
    if (endTurn === undefined) {
      signal?.throwIfAborted();
      throw new AudienceBusyError(audience.name, wait);
    }
    try {
      return await work(await AudienceLock.take(this.store, audience, kind, { ...terms, since }));
    } finally {
      endTurn();
      if (turn.isFree) turns.delete(audience.trait);
    }
  }
}
