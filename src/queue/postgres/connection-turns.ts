import { SYSTEM_CLOCK } from '../../shared/clock.js';
import { TenantTurns } from '../../shared/tenant-turns.js';
import { SilentConnectionError } from '../queue-failure.js';

/** How long a statement waits for its turn, in milliseconds: as long as for a connection. */
const PATIENCE = 10_000;

/**
 * Limits how many statements of one kind run at once. Each takes one of the connections on which jobs are added, and
 * keeps it while it waits for a lock. One tenant leaves a turn to others, unless there is only one turn.
 */
export class ConnectionTurns {
  private readonly turns: TenantTurns;

  /**
   * @param most how many statements run at once
   * @param patience how long a statement waits for its turn, in milliseconds
   */
  constructor(
    most: number,
    private readonly patience = PATIENCE,
  ) {
    this.turns = new TenantTurns(most, Math.max(most - 1, 1));
  }

  /** Runs a statement when its turn comes. @throws SilentConnectionError if it does not come in time */
  async run<T>(tenant = '', statement: () => Promise<T>): Promise<T> {
    const waiting = new AbortController();
    const timer = SYSTEM_CLOCK.afterUnlessIdle(this.patience, () => {
      waiting.abort(new SilentConnectionError(this.patience / 1_000));
    });
    const begin = (): Promise<T> => {
      timer.cancel();
      return statement();
    };
    return this.turns.run(tenant, begin, waiting.signal);
  }
}
