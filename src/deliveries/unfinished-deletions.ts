import debugFactory from 'debug';
import type { BacklogStore } from '../queue/backlog-store.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import type { DeletionStore } from './deletion-store.js';
import type { UserEraser } from './user-eraser.js';

const debug = debugFactory('analytics');

/** How often one of the processes looks, and how old a deletion is that it takes over by then, in milliseconds. */
const INTERVAL = 300_000;
/** Deletions read at once. */
const PAGE = 1_000;

export interface UnfinishedDeletionsParts {
  store: Pick<DeletionStore, 'pending' | 'pages'>;
  backlogs: Pick<BacklogStore, 'claim'>;
  eraser: Pick<UserEraser, 'start'>;
  /** @default the system's */
  clock?: Clock;
  /** The time, in milliseconds since the epoch. @default the system's */
  now?: () => number;
}

/**
 * Has deletions carried out that another process, or an earlier run of this one, left undone. That process may have ended
 * after the start of this one, so a look at the start is not enough.
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

  /** Takes over whatever is left, however recent: an earlier run of this process may have left it. */
  start(): void {
    this.takeOver(() => this.isAnyLeft());
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
  }

  /** One look at a time: a database that is away does not answer. */
  private takeOver(look: () => Promise<boolean>): void {
    void look()
      .then((isFound) => {
        if (isFound && !this.isClosed) this.parts.eraser.start();
      })
      .catch((error: unknown) => {
        // There is a next time.
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

  /** A recent one is probably being carried out, by the process that was told of it. */
  private async isAnyOverdue(): Promise<boolean> {
    const { store, backlogs } = this.parts;
    if (!(await backlogs.claim('deletions', INTERVAL / 2))) return false;
    const latest = this.now() - INTERVAL;
    for await (const deletions of store.pages(PAGE)) {
      if (deletions.some(({ at }) => at <= latest)) return true;
    }
    return false;
  }
}
