import { failureOf } from '../queue/queue-failure.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { within } from '../shared/within.js';
import type { DestinationDirectory } from './destination-directory.js';
import { type DestinationChange, type DestinationFeed, KEPT_CHANGES } from './destination-feed.js';

/** How long whoever made a change waits until the others can read of it, in milliseconds. */
const PATIENCE = 2_000;
/** How often what could not be told is tried again, in milliseconds. */
const RETRY_INTERVAL = 1_000;

export interface ChangeNoticesParts {
  directory: Pick<DestinationDirectory, 'forget'>;
  /** `undefined` if the store records each change with its write. */
  feed: Pick<DestinationFeed, 'publish'> | undefined;
  /** Told at the end that the other processes have not heard of this many changes. */
  onLost: (count: number) => void;
  /** @default the system's */
  clock?: Clock;
}

/**
 * Makes changes known: in this process at once, and in the others through the feed. While its database is away,
 * notices are kept and told when it is back. Until then nobody uses what they remember, so nobody acts on what
 * has changed.
 */
export class ChangeNotices {
  private readonly clock: Clock;
  /** What could not be told yet, by what it is about. */
  private readonly kept = new Map<string, DestinationChange>();
  /** Notices on their way. */
  private sending = 0;
  private timer: Timer | undefined;
  private isClosed = false;

  constructor(private readonly parts: ChangeNoticesParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
  }

  /** Rejects if the database refuses the notice, or is away for so long that no more are kept. */
  async tell({ tenant, id }: { tenant?: string | undefined; id?: string | undefined }): Promise<void> {
    const change: DestinationChange = { tenant, id };
    this.parts.directory.forget(change);
    // A command to a Redis that is away waits for it.
    await within(PATIENCE, this.publish(change));
  }

  /** Nothing is told any more. */
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

  /** Tells one after the other, until the database is away again. */
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
