import { RemovalError } from './database-error.js';
import type { OutboxLog } from './outbox-log.js';
import { CLAIM, type OutboxStore, RENEWAL } from './outbox-store.js';

const PROBLEM = 'It is in the queue, but a trigger or row security keeps it from being deleted.';

/**
 * Rows that are in the queue, until they are deleted. The relay claims no other rows meanwhile. So it moves none of
 * these rows again, and has no more of them than it claims at once.
 */
export class RowsInQueue {
  private ids: number[] = [];
  /** Time of the last renewal, by the monotonic clock. */
  private renewedAt = -Infinity;

  constructor(
    private readonly store: OutboxStore,
    private readonly log: OutboxLog,
  ) {}

  add(ids: readonly number[]): void {
    this.ids.push(...ids);
  }

  /** @throws RemovalError; another call tries again */
  async remove(): Promise<void> {
    if (this.ids.length === 0) return;
    try {
      this.ids = await this.store.remove(this.ids);
    } catch (cause) {
      await this.renew();
      throw new RemovalError(cause);
    }
    if (this.ids.length === 0) return;
    // Otherwise their claim would end, and they would be moved again and again.
    await this.store.setAside(this.ids, PROBLEM);
    this.log.kept(this.store.table.name, this.ids.length);
    this.ids = [];
  }

  /** Keeps the rows claimed, so that no other relay takes them. */
  private async renew(): Promise<void> {
    const now = performance.now();
    if (now - this.renewedAt < RENEWAL) return;
    this.renewedAt = now;
    // If this fails, another process may move the rows as well, as the same jobs.
    await this.store.postpone(this.ids, CLAIM).catch(() => undefined);
  }
}
