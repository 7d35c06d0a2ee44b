import { countOf } from '../../shared/count-of.js';
import { MORE_CONNECTIONS, NO_MORE_CONNECTIONS } from '../queue-failure.js';
import type { QueueHealth } from '../queue-health.js';

/** How long after a refusal it is told, in milliseconds: other connections may be on their way. */
const TELL_AFTER = 1_000;
/** How long, and in how many refusals, there are fewer connections than were told before that is told. */
const FEWER_AFTER = { milliseconds: 5_000, refusals: 3 };
/** How long after such a line another may follow, in milliseconds. */
const FEWER_INTERVAL = 600_000;
/** How far apart refusals are that have nothing to do with each other, in milliseconds: a pool asks again sooner. */
const APART = 60_000;

/** Refusals while there are fewer connections than were told. */
interface Fewer {
  /** When the first was, by the monotonic clock. */
  readonly since: number;
  refusals: number;
  /** The most connections that there were at once meanwhile. */
  most: number;
}

/**
 * Tells that the server gives no more connections, once for as long as there are no more of them, and again when there come
 * to be fewer. After that, more of them are told only when nothing has been refused for a while: where others take and
 * return connections all day, each change would have a line.
 */
export class ConnectionShortage {
  /** The most connections that there were at once since the refusal. Some close when they are idle, and come back. */
  private most = 0;
  private isTold = false;
  private fewer: Fewer | undefined;
  /** When the latest refusal was, and the latest line about fewer, by the monotonic clock. */
  private refusedAt = -Infinity;
  private fewerToldAt = -Infinity;
  /** After such a line: the most connections that there were at once. */
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

  /** Nothing was refused for a while: what is refused now has to do with what there is now. */
  private forgetRefusals(): void {
    this.fewer = undefined;
    if (this.grownTo !== undefined && this.grownTo > this.most) this.isTold = false;
    this.grownTo = undefined;
  }

  /** A connection that was closed may still count for the server, so one refusal shows nothing. */
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
    // An outage has a line of its own.
    if (!this.health.isUp) return;
    // Where there is no room for the line, the next refusal is told.
    this.isTold = this.health.report(
      new Error(
        `it gives no more connections, ${NO_MORE_CONNECTIONS}. What is sent to it waits for one of the ` +
          `${countOf(this.most, 'connection')} that there are; for more, ${MORE_CONNECTIONS}`,
      ),
    );
  };
}
