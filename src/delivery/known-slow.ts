/** Most destinations that are remembered: the latest ones. */
const MOST = 10_000;

/**
 * Destinations that were slow when last in use. All may be used again at once, for example every five minutes. If
 * unknown, they would hold the places of others until they prove slow again. A wrong mark ends with the next request.
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

  /** Returns whether a destination was slow, and forgets it: from now on, its window knows. */
  take(id: string): boolean {
    return this.ids.delete(id);
  }
}
