import debugFactory from 'debug';
import type { BacklogStore } from '../queue/backlog-store.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import type { DeletionLog } from './deletion-log.js';
import type { DeletionStore } from './deletion-store.js';
import { needsOwnStore } from './deletion-task.js';
import type { UserEraser } from './user-eraser.js';

const debug = debugFactory('analytics');

/** Time between checks by any process, and least age of a deletion that a check takes over, in milliseconds. */
const INTERVAL = 300_000;
/** Deletions read at once. */
const PAGE = 1_000;

export interface UnfinishedDeletionsParts {
  store: Pick<DeletionStore, 'pending' | 'pages'>;
  backlogs: Pick<BacklogStore, 'claim'>;
  eraser: Pick<UserEraser, 'start'>;
  log: Pick<DeletionLog, 'onLeft'>;
  /** Whether audiences are in a store of the application. */
  hasOwnStore: boolean;
  /** @default the system's */
  clock?: Clock;
  /** The time, in milliseconds since the epoch. @default the system's */
  now?: () => number;
}

/**
 * Has deletions carried out that another process, or an earlier run of this process, left undone. The other process may
 * end after the start of this one, so a check at the start is not enough.
 */
export class UnfinishedDeletions {
  private readonly clock: Clock;
  private readonly now: () => number;
  private timer: Timer | undefined;
  private isClosed = false;

  constructor(private readonly parts: UnfinishedDeletionsParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
    this.now = parts.now ?? Date.now;
  }

  /** Takes over all unfinished deletions, however recent: an earlier run of this process may have left them. */
  start(): void {
    this.takeOver(() => this.isAnyLeft());
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
  }

  /** Schedules the next check only after this one: a database that is away does not answer. */
  private takeOver(look: () => Promise<boolean>): void {
    void look()
      .then((isFound) => {
        if (isFound && !this.isClosed) this.parts.eraser.start();
      })
      .catch((error: unknown) => {
        // The next check tries again.
        debug('unfinished deletions could not be looked up: %o', error);
      })
      .then(() => {
        this.schedule();
      });
  }

  private schedule(): void {
    if (this.isClosed) return;
    this.timer = this.clock.afterUnlessIdle(INTERVAL, () => {
      this.takeOver(() => this.isAnyOverdue());
    });
  }

  private async isAnyLeft(): Promise<boolean> {
    return (await this.parts.store.pending(1)).length > 0;
  }

  /** Returns whether a deletion is overdue. The process that took a recent deletion is probably carrying it out. */
  private async isAnyOverdue(): Promise<boolean> {
    const { store, backlogs, log, hasOwnStore } = this.parts;
    // A process that cannot complete all deletions must not keep one that can from looking for them.
    const claim = hasOwnStore ? 'deletions-of-own-store' : 'deletions';
    if (!(await backlogs.claim(claim, INTERVAL / 2))) return false;
    const latest = this.now() - INTERVAL;
    let left = 0;
    for await (const deletions of store.pages(PAGE)) {
      const overdue = deletions.filter(({ at }) => at <= latest);
      if (overdue.some(({ task }) => hasOwnStore || !needsOwnStore(task))) return true;
      left += overdue.length;
    }
    log.onLeft(left);
    return left > 0;
  }
}
