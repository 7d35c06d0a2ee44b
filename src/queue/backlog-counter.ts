import { chunksOf } from '../shared/chunks.js';
import { type BacklogStore, CHANGED_AT_ONCE } from './backlog-store.js';
import {
  type DestinationBacklog,
  emptyBacklog,
  type FullBacklog,
  fullBacklog,
  hasManyChanges,
  hasManyWaiting,
  isIdle,
  isPending,
  waitingIn,
} from './destination-backlog.js';
import { TenantBacklogs } from './tenant-backlogs.js';

/** How often changes are written, and the totals of all processes read back, in milliseconds. */
const SYNC_INTERVAL = 1_000;
/** Below this share of its limit, a destination that was full counts as drained. */
const DRAINED_SHARE = 0.95;
export interface BacklogObserver {
  /** The destination was found full for the first time. */
  onFull(backlog: FullBacklog): void;
  onDrained(backlog: FullBacklog): void;
}

/**
 * Counts the messages that wait for each destination, and decides whether it may take more. All processes
 * share the totals. Each process writes its changes once a second and reads back the new totals, so a call
 * gets its answer at once. A crash loses a second of changes, which the upkeep corrects.
 */
export class BacklogCounter {
  private readonly backlogs = new Map<string, DestinationBacklog>();
  private readonly tenants = new TenantBacklogs();
  private observer: BacklogObserver | undefined;
  private timer: NodeJS.Timeout | undefined;
  private work: Promise<void> | undefined;
  private started: Promise<boolean> | undefined;
  /** Whether the store could not be reached the last time. */
  private isFailing = false;
  private isClosed = false;

  /** @param limitOf the limit of a destination; Infinity if it has none */
  constructor(
    private readonly store: BacklogStore,
    private readonly limitOf: (destination: string) => number,
  ) {}

  observe(observer: BacklogObserver): void {
    this.observer = observer;
  }

  /**
   * Reads the totals from before this process started. Nothing is refused until then. Resolves to whether the totals
   * were read. If not, another call tries again.
   */
  start(): Promise<boolean> {
    this.started ??= this.readTotals().catch(() => {
      // An outage of the queue is logged elsewhere. The totals are then read with the first change.
      this.started = undefined;
      return false;
    });
    return this.started;
  }

  /** Returns why a destination refuses a message now, or `undefined` if it takes the message. */
  refusal({ destination }: { readonly destination: string }): string | undefined {
    const backlog = this.known(destination);
    if (waitingIn(backlog) < backlog.limit) return undefined;
    this.foundFull(this.kept(backlog), 1);
    return `${backlog.limit} messages wait for the destination "${destination}" (its \`backlogLimit\`)`;
  }

  /** Returns how many messages a destination takes now. Further messages wait for room, and do not count as refused. */
  roomFor({ destination }: { readonly destination: string }): number {
    const backlog = this.known(destination);
    const room = Math.max(backlog.limit - waitingIn(backlog), 0);
    if (room === 0) this.foundFull(this.kept(backlog), 0);
    return room;
  }

  /** Whether so many messages wait for a destination or its tenant that messages for others may overtake new ones. */
  hasManyWaiting(destination: string): boolean {
    const backlog = this.backlogs.get(destination);
    return backlog !== undefined && (hasManyWaiting(backlog) || this.tenants.hasManyWaiting(backlog));
  }

  /** Counts a message that is on its way to the queue. A call of `taken` follows. */
  admitted({ destination, tenant }: { readonly destination: string; readonly tenant?: string }): void {
    const backlog = this.kept(this.known(destination));
    backlog.admitted++;
    if (tenant !== undefined) this.tenants.add(tenant, backlog);
  }

  /** Counts admitted messages that are now in the queue. */
  taken(destination: string, messages: number): void {
    const backlog = this.kept(this.known(destination));
    backlog.admitted = Math.max(backlog.admitted - messages, 0);
    this.change(backlog, messages);
  }

  /** Counts messages that had ended and are in the queue again. They wait even without room, so none was admitted. */
  returned(destination: string, messages: number): void {
    this.change(this.kept(this.known(destination)), messages);
  }

  /** Counts messages that no longer wait, because they were delivered or failed for good. */
  ended(destination: string, messages: number): void {
    if (messages > 0) this.change(this.kept(this.known(destination)), -messages);
  }

  /** Writes the remaining changes. If the store cannot be reached, the upkeep corrects the totals later. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await this.work;
    await this.sync().catch(() => undefined);
  }

  private async readTotals(): Promise<true> {
    for (const [destination, total] of await this.store.all()) {
      const backlog = this.kept(this.known(destination));
      backlog.total = total;
      backlog.readAt = performance.now();
    }
    this.watch();
    return true;
  }

  /** Returns a destination's backlog as far as it is known. A caller that needs it later calls `kept`. */
  private known(destination: string): DestinationBacklog {
    return this.backlogs.get(destination) ?? emptyBacklog(destination, this.limitOf(destination));
  }

  private kept(backlog: DestinationBacklog): DestinationBacklog {
    this.backlogs.set(backlog.destination, backlog);
    return backlog;
  }

  private forget(backlog: DestinationBacklog): void {
    this.backlogs.delete(backlog.destination);
    this.tenants.remove(backlog);
  }

  private foundFull(backlog: DestinationBacklog, refused: number): void {
    if (backlog.full === undefined) {
      backlog.full = { since: Date.now(), refused };
      this.observer?.onFull(fullBacklog(backlog, backlog.full));
    } else backlog.full.refused += refused;
    this.schedule();
  }

  private change(backlog: DestinationBacklog, messages: number): void {
    backlog.changes += messages;
    backlog.usedAt = performance.now();
    if (hasManyChanges(backlog) && !this.isFailing) this.run();
    else this.schedule();
  }

  private schedule(): void {
    if (this.isClosed || this.work !== undefined) return;
    this.timer ??= setTimeout(() => {
      this.run();
    }, SYNC_INTERVAL).unref();
  }

  private run(): void {
    if (this.isClosed || this.work !== undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.work = this.sync().then(
      () => {
        this.isFailing = false;
      },
      () => {
        // Changes that could not be written are written with the next ones.
        this.isFailing = true;
      },
    );
    void this.work.then(() => {
      this.work = undefined;
      this.watch();
    });
  }

  private watch(): void {
    const backlogs = [...this.backlogs.values()];
    if (!this.isFailing && backlogs.some(hasManyChanges)) this.run();
    // Even if nothing is pending yet: totals get old, and idle backlogs are forgotten.
    else if (backlogs.length > 0) this.schedule();
  }

  private async sync(): Promise<void> {
    const backlogs = [...this.backlogs.values()];
    for (const backlog of backlogs.filter(isIdle)) this.forget(backlog);
    const pending = backlogs.filter(isPending);
    for (const chunk of chunksOf(pending, CHANGED_AT_ONCE)) await this.syncAtOnce(chunk);
  }

  private async syncAtOnce(pending: readonly DestinationBacklog[]): Promise<void> {
    for (const backlog of pending) {
      backlog.syncing = backlog.changes;
      backlog.changes = 0;
    }
    try {
      const changes = pending.map(({ destination, syncing }): [string, number] => [destination, syncing]);
      const totals = await this.store.add(new Map(changes));
      for (const backlog of pending) this.synced(backlog, totals.get(backlog.destination) ?? 0);
    } catch (error) {
      for (const backlog of pending) {
        backlog.changes += backlog.syncing;
        backlog.syncing = 0;
      }
      throw error;
    }
  }

  private synced(backlog: DestinationBacklog, total: number): void {
    backlog.total = total;
    backlog.syncing = 0;
    backlog.readAt = performance.now();
    const { full } = backlog;
    if (full !== undefined && waitingIn(backlog) < backlog.limit * DRAINED_SHARE) {
      backlog.full = undefined;
      this.observer?.onDrained(fullBacklog(backlog, full));
    }
    if (isIdle(backlog)) this.forget(backlog);
  }
}
