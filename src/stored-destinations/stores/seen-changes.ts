import { NO_CHANGE } from '../destination-feed.js';

/** Maximum number of changes that are remembered. */
const MOST = 100;

/**
 * The latest change at the time of each look-up, until the feed is next read. What a look-up returned may include a
 * change that the feed has not told of. If the server loses this change, the feed never tells of it.
 */
export class SeenChanges {
  private readonly changes = new Set<string>();

  add(latest: string): void {
    if (latest !== NO_CHANGE) this.changes.add(latest);
    const [oldest] = this.changes;
    if (oldest !== undefined && this.changes.size > MOST) this.changes.delete(oldest);
  }

  /** @param read reads the feed, and finds out whether the server still has all these changes */
  async check<T>(read: (seen: readonly string[]) => Promise<T>): Promise<T> {
    const seen = [...this.changes];
    const answer = await read(seen);
    for (const change of seen) this.changes.delete(change);
    return answer;
  }
}
