/** Work whose time may be over before it is done. */
export interface Expiring {
  expire(): void;
}

/**
 * The deadline of works that come one after the other and are nearly always in time. One timer serves them
 * all: it runs on from one to the next and looks at the deadline when it fires, so that setting one is free.
 * It does not keep the process alive; the work does.
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

  /** The work is done. */
  clear(): void {
    this.work = undefined;
  }

  /** No work comes after this. */
  stop(): void {
    this.clear();
    clearTimeout(this.timer);
  }

  private arm(at: number): void {
    clearTimeout(this.timer);
    this.firesAt = at;
    this.timer = setTimeout(this.look, Math.ceil(at - performance.now())).unref();
  }

  /** What has expired is told so; for what has not, the timer starts again. */
  private readonly look = (): void => {
    const { work } = this;
    this.firesAt = Infinity;
    if (work === undefined) return;
    if (performance.now() < this.at) {
      this.arm(this.at);
      return;
    }
    this.clear();
    work.expire();
  };
}
