import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { within } from '../shared/within.js';

/**
 * How long another process may take to write what it has recorded about a destination, in milliseconds. The process
 * writes every two seconds and waits up to two more to learn which destinations are deleted, and a busy database takes
 * a while.
 */
const LATE_REMOVAL = 8_000;
/** How long the deletion of a destination waits for the removal of its history, in milliseconds. */
const PATIENCE = 2_000;

export interface HistoryRemovalParts {
  /** Drops the history that this process has not written yet. */
  discard: (id: string) => void;
  /** Removes the stored history. */
  forget: (id: string) => Promise<unknown>;
  onFailed: (error: unknown) => void;
  /** @default the system's */
  clock?: Clock;
}

/**
 * Removes the history of deleted destinations, and removes it again a little later: another process, or another
 * connection, may still be writing it.
 */
export class HistoryRemoval {
  private readonly clock: Clock;
  private readonly late = new Map<string, Timer>();
  /** Removals that are running. */
  private readonly removals = new Set<Promise<void>>();
  private isClosed = false;

  constructor(private readonly parts: HistoryRemovalParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
  }

  /**
   * Removes the history of a deleted destination. Never rejects: the destination is deleted whatever becomes of its
   * history. A store that is away is not waited for. Redis removes the history when Redis is back. PostgreSQL refuses
   * at once; if it still refuses a little later, the history expires after seven days.
   */
  async remove(id: string): Promise<void> {
    // Scheduled before the first removal ends, so that `finish` knows of it.
    this.removeLater(id);
    // A command to Redis waits while Redis is away.
    await within(PATIENCE, this.removeNow(id));
  }

  /** Runs the removals that are due later at once, and waits for all running removals. */
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
