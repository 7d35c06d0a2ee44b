/** Destinations that are remembered, the latest ones. */
const MOST = 10_000;

/**
 * Destinations that were slow when they were last in use. They may all be used again at once, say each five minutes, and
 * would hold the places of others until it is found out again. A wrong mark ends with the next request.
 */
export class KnownSlow {
  private readonly ids = new Set<string>();

  remember(id: string): void {
    this.ids.delete(id);
    this.ids.add(id);
    if (this.ids.size <= MOST) return;
    const [oldest = id] = this.ids;
    this.ids.delete(oldest);
  }

  /** Whether a destination was slow. Its window knows from now on. */
  take(id: string): boolean {
    return this.ids.delete(id);
  }
}
