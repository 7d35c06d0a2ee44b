import { countOf } from '../../shared/count-of.js';
import { thrownAt } from '../../shared/thrown-at.js';

/** Shortest time between two lines, in milliseconds. */
const INTERVAL = 60_000;

/** Logs messages that failed on this side, in at most one line a minute: a sender may send many of them. */
export class FailedMessageLog {
  private count = 0;
  private nextAt = -Infinity;

  constructor(private readonly logger: { error(message: string): void }) {}

  add(error: unknown): void {
    this.count++;
    const now = performance.now();
    if (now < this.nextAt) return;
    this.nextAt = now + INTERVAL;
    this.logger.error(
      `The tracking API failed to take ${countOf(this.count, 'message')}, the latest with ${thrownAt(error)}`,
    );
    this.count = 0;
  }
}
