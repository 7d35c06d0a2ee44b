import { Mutex } from '../queue/embedded/mutex.js';
import { AudienceLock } from './audience-lock.js';
import type { AudienceDefinition, AudienceStore } from './audience-store.js';

/** How long the lock is left to whoever wants it before the next step; longer than they wait between two looks. */
const YIELD = 75;

/** How long a single step may be waited for, in locks that nobody renews: someone may have died with one. */
const PATIENCE = 4;

export interface ChangeStepsOptions {
  /** Milliseconds after which the lock of a process that died is free. */
  lockDuration: number;
  /** Aborted, with the error to tell, when syncs are to end because the application shuts down. */
  signal: AbortSignal;
}

/**
 * Runs the changes of an audience one step at a time, whoever makes them: a sync of millions is many
 * steps, and those who add or remove a single user get in between.
 */
export class ChangeSteps {
  private readonly turns = new Map<string, Mutex>();

  constructor(
    private readonly store: AudienceStore,
    private readonly options: ChangeStepsOptions,
  ) {}

  /** @throws AudienceBusyError, AudienceLockLostError */
  async run<T>(
    audience: AudienceDefinition,
    step: (lock: AudienceLock) => Promise<T>,
    wait = this.options.lockDuration * PATIENCE,
  ): Promise<T> {
    return this.turnOf(audience.trait).run(async () => {
      const { lockDuration: duration } = this.options;
      const lock = await AudienceLock.take(this.store, audience, 'change', { wait, duration });
      try {
        return await step(lock);
      } finally {
        if (await lock.release()) await new Promise((resolve) => setTimeout(resolve, YIELD));
      }
    });
  }

  /** Runs work that others may not do at the same time, though they may make single changes. */
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

  /** Those of this process wait for each other in line rather than by looking at the lock. */
  private turnOf(trait: string): Mutex {
    const turn = this.turns.get(trait) ?? new Mutex();
    this.turns.set(trait, turn);
    return turn;
  }
}
