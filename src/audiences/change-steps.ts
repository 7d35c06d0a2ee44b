import { AudienceBusyError } from '../errors/audience.errors.js';
import type { AudienceDefinition, AudienceStore } from '../options/audience-store.js';
import { Mutex } from '../shared/mutex.js';
import { AudienceLock } from './audience-lock.js';

/**
 * Pause before the next step when another one waits for the lock; longer than the time between two attempts.
 */
const YIELD = 75;

/**
 * How long to wait for a single step, in lock durations without a renewal: a process may have died holding
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
 * Runs the changes of an audience one step at a time. A sync of millions takes many steps, so that others can
 * add or remove a single user in between.
 */
export class ChangeSteps {
  /** By the trait, while anybody changes it. */
  private readonly turns = new Map<string, Mutex>();

  constructor(
    private readonly store: AudienceStore,
    private readonly options: ChangeStepsOptions,
  ) {}

  /**
   * @param wait the longest wait for other changes, of this process and of others, in milliseconds
   * @throws AudienceBusyError, AudienceLockLostError
   */
  async run<T>(
    audience: AudienceDefinition,
    step: (lock: AudienceLock) => Promise<T>,
    wait = this.options.lockDuration * PATIENCE,
  ): Promise<T> {
    const since = performance.now();
    const turn = this.turnOf(audience.trait);
    const endTurn = await turn.acquireWithin(wait);
    if (endTurn === undefined) throw new AudienceBusyError(audience.name, wait);
    try {
      return await this.runLocked(audience, step, { wait, since });
    } finally {
      endTurn();
      if (turn.isFree) this.turns.delete(audience.trait);
    }
  }

  /** Runs work that others may not do at the same time. They may still make single changes. */
  async runSync<T>(
    audience: AudienceDefinition,
    wait: number,
    work: (lock: AudienceLock) => Promise<T>,
  ): Promise<T> {
    const { lockDuration: duration, signal } = this.options;
    const lock = await AudienceLock.take(this.store, audience, 'sync', { wait, duration, signal });
    try {
      return await work(lock);
    } finally {
      await lock.release();
    }
  }

  private async runLocked<T>(
    audience: AudienceDefinition,
    step: (lock: AudienceLock) => Promise<T>,
    patience: { wait: number; since: number },
  ): Promise<T> {
    const { lockDuration: duration } = this.options;
    const lock = await AudienceLock.take(this.store, audience, 'change', { ...patience, duration });
    try {
      return await step(lock);
    } finally {
      if (await lock.release()) await new Promise((resolve) => setTimeout(resolve, YIELD));
    }
  }

  /** Changes in this process wait in line for each other instead of polling the lock. */
  private turnOf(trait: string): Mutex {
    const turn = this.turns.get(trait) ?? new Mutex();
    this.turns.set(trait, turn);
    return turn;
  }
}
