import { failureOf } from '../queue/queue-failure.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { within } from '../shared/within.js';
import type { DestinationDirectory } from './destination-directory.js';
import { type DestinationChange, type DestinationFeed, KEPT_CHANGES } from './destination-feed.js';

/** How long the caller of a change waits until other processes can read the notice, in milliseconds. */
const PATIENCE = 2_000;
/** Interval at which unpublished notices are tried again, in milliseconds. */
const RETRY_INTERVAL = 1_000;

export interface ChangeNoticesParts {
  directory: Pick<DestinationDirectory, 'forget'>;
  /** `undefined` if the store records each change with its write. */
  feed: Pick<DestinationFeed, 'publish'> | undefined;
  /** Called at the end with the number of changes that the other processes have not heard of, if there are any. */
  onLost: (count: number) => void;
  /** @default the system's */
  clock?: Clock;
}

/**
 * Announces changes: in this process at once, and to the others through the feed. While the feed's database is away,
 * notices are kept, and published when the database is back. Until then no process uses the destinations that it
 * remembers, so none acts on an outdated one.
 */
export class ChangeNotices {
  private readonly clock: Clock;
  /** Notices that could not be published yet, by tenant and id. */
  private readonly kept = new Map<string, DestinationChange>();
  /** Number of notices that are being published. */
  private sending = 0;
  private timer: Timer | undefined;
  private isClosed = false;

  constructor(private readonly parts: ChangeNoticesParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
  }

  /** Announces a change. Rejects if the database refuses the notice, or is away for so long that no more are kept. */
  async tell({ tenant, id }: { tenant?: string | undefined; id?: string | undefined }): Promise<void> {
    const change: DestinationChange = { tenant, id };
    this.parts.directory.forget(change);
    // A command to Redis waits while Redis is away.
    await within(PATIENCE, this.publish(change));
  }

  /** Ends the retries, and reports the notices that were not published. */
  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
    const lost = this.kept.size + this.sending;
    if (lost > 0) this.parts.onLost(lost);
  }

  private async publish(change: DestinationChange): Promise<void> {
    this.sending++;
    try {
      await this.parts.feed?.publish(change);
    } catch (error) {
      if (failureOf(error) === undefined || this.kept.size >= KEPT_CHANGES) throw error;
      this.keep(change);
    } finally {
      this.sending--;
    }
  }

  private keep(change: DestinationChange): void {
    this.kept.set(JSON.stringify([change.tenant, change.id]), change);
    if (this.isClosed) return;
    this.timer ??= this.clock.afterUnlessIdle(RETRY_INTERVAL, () => {
      this.timer = undefined;
      void this.tellKept();
    });
  }

  /** Publishes the kept notices one after the other, until the database is away again. */
  private async tellKept(): Promise<void> {
    for (const [key, change] of this.kept) {
      this.kept.delete(key);
      await this.publish(change).catch(() => {
        this.keep(change);
      });
      if (this.kept.has(key)) return;
    }
  }
}
