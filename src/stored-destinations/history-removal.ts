import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';

/** How long a write may be on its way that was begun before a destination was deleted, in milliseconds. */
const LATE_REMOVAL = 3_000;

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
  private isClosed = false;

  constructor(private readonly parts: HistoryRemovalParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
  }

  /** Never rejects: a destination is deleted whatever becomes of its history. */
  async remove(id: string): Promise<void> {
    await this.forget(id);
    if (this.isClosed) return;
    this.late.get(id)?.cancel();
    const timer = this.clock.afterUnlessIdle(LATE_REMOVAL, () => {
      this.late.delete(id);
      void this.forget(id);
    });
    this.late.set(id, timer);
  }

  /** Removes now what was to be removed a little later. */
  async finish(): Promise<void> {
    const ids = [...this.late.keys()];
    this.cancel();
    await Promise.all(ids.map((id) => this.forget(id)));
  }

  close(): void {
    this.isClosed = true;
    this.cancel();
  }

  private cancel(): void {
    for (const timer of this.late.values()) timer.cancel();
    this.late.clear();
  }

  private async forget(id: string): Promise<void> {
    this.parts.discard(id);
    try {
      await this.parts.forget(id);
    } catch (error) {
      this.parts.onFailed(error);
    }
  }
}
