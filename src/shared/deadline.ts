import { timerDelay } from './clock.js';

/** Work that may run out of time. */
export interface Expiring {
  expire(): void;
}

/**
 * The deadline of pieces of work that follow one another and nearly always end in time. One timer serves all of them.
 * The timer is not restarted for the next piece of work, but checks the deadline when it fires, so setting a deadline
 * costs nothing. The timer does not keep the process alive.
 *
 * After a stall of the event loop, timers fire before sockets are read. So expired work gets one more turn of the loop,
 * in which an answer that has already arrived ends it.
 */
export class Deadline {
  private work: Expiring | undefined;
  private at = Infinity;
  private timer: NodeJS.Timeout | undefined;
  private firesAt = Infinity;

  /** @param at when the work expires, by `performance.now()` */
  set(work: Expiring, at: number): void {
    this.work = work;
    this.at = at;
    if (at < this.firesAt) this.arm(at);
  }

  /** Clears the deadline, since the work is done. */
  clear(): void {
    this.work = undefined;
  }

  /** Stops the timer, since no work follows. */
  stop(): void {
    this.clear();
    clearTimeout(this.timer);
  }

  private arm(at: number): void {
    clearTimeout(this.timer);
    this.firesAt = at;
    this.timer = setTimeout(this.look, timerDelay(at - performance.now())).unref();
  }

  /** Expires overdue work once the sockets have been read. For any other work, the timer starts again. */
  private readonly look = (): void => {
    const { work } = this;
    this.firesAt = Infinity;
    if (work === undefined) return;
    if (performance.now() < this.at) this.arm(this.at);
    else setImmediate(this.expire, work);
  };

  private readonly expire = (late: Expiring): void => {
    // Other work has begun meanwhile, or this one was given more time: `set` has started the timer for it.
    if (this.work !== late || performance.now() < this.at) return;
    this.clear();
    late.expire();
  };
}
