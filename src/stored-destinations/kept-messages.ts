/** Longer than any process may still hold a destination for disabled, in milliseconds. */
const LATE_REPLAY = 3_000;

/** Delivers what was kept for destinations while they were disabled. */
export class KeptMessages {
  private readonly timers = new Set<NodeJS.Timeout>();

  /** @param replay delivers everything that is kept for a destination */
  constructor(
    private readonly replay: (id: string) => Promise<unknown>,
    private readonly onFailed: (id: string, error: unknown) => void,
  ) {}

  /**
   * Delivers it now, and once more a little later: a worker that has not heard yet that the destination is
   * enabled keeps what it has in hand.
   */
  async deliver(id: string): Promise<void> {
    await this.replay(id);
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      this.replay(id).catch((error: unknown) => {
        this.onFailed(id, error);
      });
    }, LATE_REPLAY).unref();
    this.timers.add(timer);
  }

  close(): void {
    for (const timer of this.timers) clearTimeout(timer);
  }
}
