import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { within } from '../shared/within.js';

/**
 * How long it may take until what another process has recorded of a destination is written, in milliseconds: it is written
 * every two seconds, then waits up to two for the answer which destinations are deleted, and a busy database takes a while.
 */
const LATE_REMOVAL = 8_000;
/** How long whoever deletes a destination waits for its history, in milliseconds. */
const PATIENCE = 2_000;

export interface HistoryRemovalParts {
  /** Forgets what is not written yet in this process. */
  discard: (id: string) => void;
  /** Removes what is stored. */
  forget: (id: string) => Promise<unknown>;
  onFailed: (error: unknown) => void;
  /** @default the system's */
  clock?: Clock;
}

/**
 * Removes the history of destinations that were deleted, and once more a little later: another process, or another
 * connection, may be writing of it.
 */
export class HistoryRemoval {
  private readonly clock: Clock;
  private readonly late = new Map<string, Timer>();
  /** What is under way. */
  private readonly removals = new Set<Promise<void>>();
  private isClosed = false;

  constructor(private readonly parts: HistoryRemovalParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
  }

  /**
   * Never rejects: a destination is deleted whatever becomes of its history. A store that is away is not waited for. Redis
   * forgets it when it is back. PostgreSQL refuses at once, and if it still does so a little later, forgets it after seven
   * days.
   */
  async remove(id: string): Promise<void> {
    // Before the first removal ends, so that `finish` knows of it.
    this.removeLater(id);
    // A command to a Redis that is away waits for it.
    await within(PATIENCE, this.removeNow(id));
  }

  /** Removes now what was to be removed a little later, and waits for all that is under way. */
  async finish(): Promise<void> {
    const ids = [...this.late.keys()];
    this.cancel();
    for (const id of ids) void this.forget(id);
    await Promise.all(this.removals);
  }

  close(): void {
    this.isClosed = true;
    this.cancel();
  }

  private async removeNow(id: string): Promise<void> {
    await this.forget(id);
    this.removeLater(id);
  }

  private removeLater(id: string): void {
    if (this.isClosed) return;
    this.late.get(id)?.cancel();
    const timer = this.clock.afterUnlessIdle(LATE_REMOVAL, () => {
      this.late.delete(id);
      void this.forget(id);
    });
    this.late.set(id, timer);
  }

  private cancel(): void {
    for (const timer of this.late.values()) timer.cancel();
    this.late.clear();
  }

  private async forget(id: string): Promise<void> {
    const removal = this.tryToForget(id);
    this.removals.add(removal);
    await removal;
    this.removals.delete(removal);
  }

  /** Never rejects. */
  private async tryToForget(id: string): Promise<void> {
    this.parts.discard(id);
    try {
      await this.parts.forget(id);
    } catch (error) {
      this.parts.onFailed(error);
    }
  }
}
