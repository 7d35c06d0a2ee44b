import { MORE_CONNECTIONS, NO_MORE_CONNECTIONS } from '../queue-failure.js';
import type { QueueHealth } from '../queue-health.js';

/** Milliseconds between a refusal and its report: other connections may still be on their way. */
const TELL_AFTER = 1_000;
/** Minimum duration and number of refusals with fewer connections than reported, before that is reported. */
const FEWER_AFTER = { milliseconds: 5_000, refusals: 3 };
/** Milliseconds after a report of a lower number before another may follow. */
const FEWER_INTERVAL = 600_000;
/** Milliseconds between refusals that have nothing to do with each other: a pool asks again sooner. */
const APART = 60_000;

/** Refusals while there are fewer connections than reported. */
interface Fewer {
  /** Time of the first of these refusals, by the monotonic clock. */
  readonly since: number;
  refusals: number;
  /** The most connections at once since then. */
  most: number;
}

/**
 * Reports that the server gives no more connections: once, and again after their number has grown or fallen. After a
 * fall, growth only counts once nothing was refused for a while. Otherwise, if other applications take and return
 * connections all day, each change would be logged.
 */
export class ConnectionShortage {
  /** The most connections at once since the refusal. Some close when they are idle, and come back. */
  private most = 0;
  private isTold = false;
  private fewer: Fewer | undefined;
  /** Times of the latest refusal, and of the latest report of a lower number, by the monotonic clock. */
  private refusedAt = -Infinity;
  private fewerToldAt = -Infinity;
  /** The most connections at once since the report of a lower number. */
  private grownTo: number | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** @param count returns how many connections there are */
  constructor(
    private readonly count: () => number,
    private readonly health: Pick<QueueHealth, 'isUp' | 'report'>,
  ) {}

  refused(): void {
    const now = performance.now();
    if (now - this.refusedAt > APART) this.forgetRefusals();
    this.refusedAt = now;
    if (this.timer !== undefined) return;
    if (this.isTold) {
      this.refusedAgain(now);
      return;
    }
    this.most = this.count();
    this.timer = setTimeout(this.tell, TELL_AFTER).unref();
  }

  connected(): void {
    const count = this.count();
    if (count >= this.most) this.fewer = undefined;
    else if (this.fewer !== undefined) this.fewer.most = Math.max(this.fewer.most, count);
    if (count <= this.most) return;
    if (this.grownTo !== undefined) {
      this.grownTo = Math.max(this.grownTo, count);
      return;
    }
    this.most = count;
    this.isTold = false;
  }

  /** Starts over after a while without refusals: the next one concerns the current number of connections. */
  private forgetRefusals(): void {
    this.fewer = undefined;
    if (this.grownTo !== undefined && this.grownTo > this.most) this.isTold = false;
    this.grownTo = undefined;
  }

  /** Reports a lasting fall. A single refusal shows nothing: the server may still count a closed connection. */
  private refusedAgain(now: number): void {
    const most = this.count();
    if (most >= this.most) return;
    this.fewer ??= { since: now, refusals: 0, most };
    const { fewer } = this;
    fewer.refusals++;
    const isLasting = now - fewer.since >= FEWER_AFTER.milliseconds && fewer.refusals >= FEWER_AFTER.refusals;
    if (!isLasting || now - this.fewerToldAt < FEWER_INTERVAL) return;
    this.fewer = undefined;
    this.fewerToldAt = now;
    this.most = fewer.most;
    this.grownTo = fewer.most;
    this.isTold = false;
    this.tell();
  }

  private readonly tell = (): void => {
    this.timer = undefined;
    // An outage is reported separately.
    if (!this.health.isUp) return;
    // If the log has no room for the line, the next refusal is reported.
    this.isTold = this.health.report(
      new Error(
        `it accepts no more connections (${NO_MORE_CONNECTIONS}). Statements wait for ` +
          `${this.most === 1 ? 'the 1 open connection' : `one of the ${this.most} open connections`}; to get more, ` +
          MORE_CONNECTIONS,
      ),
    );
  };
}
