import type { BeforeApplicationShutdown } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { types } from 'node:util';
import { SharedWork } from '../shared/shared-work.js';
import { FailedLook, type FailedLookParts } from './failed-look.js';
import type { QueueHealth } from './queue-health.js';

/** A destination is looked at, on average, each time that failed messages amount to this share of its limit. */
const SHARE = 1 / 20;
/**
 * How long a look is delayed, in milliseconds, since a message is reported as failed before its job fails. It is also
 * the delay after a failure.
 */
const DELAY = 5_000;
/** Jobs that a look reads before the next look has its turn. */
const TURN = 100;

export interface FailedLimitParts extends FailedLookParts {
  health: Pick<QueueHealth, 'isUp' | 'report'>;
}

/**
 * Removes the oldest failed jobs of a destination that has more failed messages than its limit. A destination that
 * refuses everything would otherwise fill the database for all others until the retention is over.
 *
 * There is no running count of failed messages. Replays, deletions, retentions and dashboards remove jobs as well, so
 * a count would go wrong, and jobs that should be kept would be removed. Instead, each message that fails causes a
 * look at its destination with a small probability. So it does not matter how many processes share the work, or how
 * often they are restarted.
 *
 * A look at a million jobs takes half an hour. So the looks take turns, and no destination waits for the end of
 * another's look.
 */
export class FailedLimit implements BeforeApplicationShutdown {
  /** Timers of the looks that are delayed, by destination. */
  private readonly delays = new Map<string, NodeJS.Timeout>();
  /** Looks in progress by destination, in the order of their next turns. */
  private readonly looks = new Map<string, FailedLook>();
  private readonly turns = new SharedWork(() => this.takeTurns());
  private isClosed = false;

  constructor(private readonly parts: FailedLimitParts) {}

  /** Notes that messages have failed for good. */
  failed(destination: string, messages: number): void {
    if (Math.random() >= messages / this.parts.limitOf(destination) / SHARE) return;
    this.delay(destination, new FailedLook(destination, this.parts));
  }

  beforeApplicationShutdown(): void {
    this.isClosed = true;
    for (const timer of this.delays.values()) clearTimeout(timer);
  }

  /** Lets a look begin, or go on, after a delay. If another look at the destination is delayed, that one is enough. */
  private delay(destination: string, look: FailedLook): void {
    if (this.isClosed || this.delays.has(destination)) return;
    const timer = setTimeout(() => {
      this.delays.delete(destination);
      // A look in progress may have missed the messages that have failed since it began.
      if (this.looks.has(destination)) this.delay(destination, look);
      else this.begin(destination, look);
    }, DELAY).unref();
    this.delays.set(destination, timer);
  }

  private begin(destination: string, look: FailedLook): void {
    this.looks.set(destination, look);
    void this.turns.result();
  }

  private async takeTurns(): Promise<void> {
    // A look that is put back at the end of the map during the loop comes up again in the same loop.
    for (const [destination, look] of this.looks) {
      while (!this.isClosed && !this.parts.health.isUp) await sleep(DELAY, undefined, { ref: false });
      if (this.isClosed) return;
      await this.takeTurn(destination, look);
    }
  }

  private async takeTurn(destination: string, look: FailedLook): Promise<void> {
    // Alone, a look goes on without a break: each turn reads a page of ids again.
    const isOver = (jobs: number): boolean => this.isClosed || (jobs >= TURN && this.looks.size > 1);
    try {
      const isDone = await look.takeTurn(isOver);
      this.looks.delete(destination);
      if (!isDone) this.looks.set(destination, look);
    } catch (error) {
      this.looks.delete(destination);
      this.delay(destination, look);
      if (types.isNativeError(error)) this.parts.health.report(error);
    }
  }
}
