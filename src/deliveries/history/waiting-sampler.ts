import type { BacklogStore } from '../../queue/backlog-store.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../../shared/clock.js';
import type { HistoryStore } from './history-store.js';
import { minuteOf } from './minute-counts.js';

/** Time from the start of a process to its first count, in milliseconds. An earlier count would slow down the start. */
const FIRST = 1_000;
/** Time between later counts, in milliseconds. */
const INTERVAL = 10_000;

export interface WaitingSamplerParts {
  store: Pick<HistoryStore, 'noteWaiting'>;
  backlogs: Pick<BacklogStore, 'waiting' | 'claim'>;
  /** @default the system's */
  clock?: Clock;
  /** The time, in milliseconds since the epoch. @default the system's */
  now?: () => number;
}

/**
 * Notes in the history how many messages wait, even while nothing is delivered. All processes with a worker take part,
 * and one of them counts at a time. No delivery waits for this.
 */
export class WaitingSampler {
  private readonly clock: Clock;
  private readonly now: () => number;
  private timer: Timer | undefined;
  /** Largest number that this process has noted in the current minute. */
  private noted = { minute: -1, messages: -1 };
  private isClosed = false;

  constructor(private readonly parts: WaitingSamplerParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
    this.now = parts.now ?? Date.now;
  }

  start(): void {
    this.schedule(FIRST);
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
  }

  /** Schedules the next count only after the previous count: a database that is away does not answer. */
  private schedule(delay: number): void {
    if (this.isClosed) return;
    this.timer = this.clock.afterUnlessIdle(delay, () => {
      void this.look()
        // An outage of the queue is logged elsewhere, and the next count tries again.
        .catch(() => undefined)
        .then(() => {
          this.schedule(INTERVAL);
        });
    });
  }

  private async look(): Promise<void> {
    const { backlogs, store } = this.parts;
    if (!(await backlogs.claim('waiting', INTERVAL / 2))) return;
    const messages = await backlogs.waiting();
    const now = this.now();
    const minute = minuteOf(now);
    // Only a larger number would change what is stored.
    if (minute === this.noted.minute && messages <= this.noted.messages) return;
    await store.noteWaiting(messages, now);
    this.noted = { minute, messages };
  }
}
