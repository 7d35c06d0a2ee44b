import { SilentConnectionError } from '../queue/queue-failure.js';
import { SYSTEM_CLOCK } from '../shared/clock.js';
import { TenantTurns } from '../shared/tenant-turns.js';

/**
 * Number of look-ups at once. Each takes one of the connections on which jobs are added, and keeps it while it waits
 * for a lock on the table.
 */
const MOST_LOOKUPS = 2;
/** Tenant of every look-up: the keys of deletions do not show their tenant. */
const ANYBODY = '';

type DeletedAt = ReadonlyMap<string, number>;

/** A look-up that has not begun. */
interface NextLookup {
  readonly keys: Set<string>;
  readonly found: Promise<DeletedAt>;
}

/**
 * Looks up deletions for callers that ask at the same time, such as the batches of a job. Callers that ask while others
 * are answered share the next look-up, so that no caller waits for more than one. It begins after all of them have
 * asked, so it finds everything that was stored before.
 */
export class DeletionLookups {
  private readonly turns = new TenantTurns(MOST_LOOKUPS, MOST_LOOKUPS);
  private next: NextLookup | undefined;

  /**
   * @param look finds the times of deletions, by their keys
   * @param patience how long a look-up waits for its turn, in milliseconds
   */
  constructor(
    private readonly look: (keys: readonly string[]) => Promise<DeletedAt>,
    private readonly patience: number,
  ) {}

  /** Resolves to the times of deletions, by their keys. @throws SilentConnectionError */
  async find(keys: readonly string[]): Promise<Map<string, number>> {
    const next = (this.next ??= this.prepare());
    for (const key of keys) next.keys.add(key);
    const found = await next.found;
    const own = new Map<string, number>();
    for (const key of keys) {
      const at = found.get(key);
      if (at !== undefined) own.set(key, at);
    }
    return own;
  }

  private prepare(): NextLookup {
    const keys = new Set<string>();
    return { keys, found: this.inTurn(keys) };
  }

  private async inTurn(keys: ReadonlySet<string>): Promise<DeletedAt> {
    // Callers that ask at the same moment share this look-up as well.
    await Promise.resolve();
    const waiting = new AbortController();
    const timer = SYSTEM_CLOCK.afterUnlessIdle(this.patience, () => {
      this.next = undefined;
      waiting.abort(new SilentConnectionError(this.patience / 1_000));
    });
    const begin = (): Promise<DeletedAt> => {
      timer.cancel();
      this.next = undefined;
      return this.look([...keys]);
    };
    return this.turns.run(ANYBODY, begin, waiting.signal);
  }
}
