import type { RateLimitStore } from './rate-limit-store.js';

/** How much of a destination's time a process reserves at once, in milliseconds; at least for one message. */
const LEASE = 100;
/** Timers are not more precise than this, in milliseconds. What is due by then goes out together. */
const TICK = 5;
/** A reserved time that was not used for this long is over, in milliseconds. */
const STALE = 1_000;
/** How long to wait if the store cannot be reached, in milliseconds. */
const RETRY_INTERVAL = 1_000;
/** The longest wait until the limit is looked at again, in milliseconds: it may have been raised. */
const LONGEST_WAIT = 1_000;

/** What this process may send to one destination with a `rateLimit`, message by message. */
export class RateBudget {
  /** When the next message may be sent, by `performance.now()`. */
  private nextAt = 0;
  /** Messages a second, as the time was reserved. */
  private limit = 0;
  /** Messages that may still be sent in the reserved time. */
  private left = 0;
  /** What time was reserved for last: the destination, and its limit then. */
  private reserved: string | undefined;
  private isAsking = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param resume called when a message may be sent that was refused before */
  constructor(
    private readonly store: RateLimitStore,
    private readonly destination: string,
    private readonly resume: () => void,
  ) {}

  /** Whether no message of this process has to wait, as far as is known. Other processes may have taken the time. */
  get isFree(): boolean {
    return !this.isAsking && performance.now() >= this.nextAt;
  }

  /**
   * Whether a message may be sent now. If not, `resume` is called when it may.
   *
   * @param limit messages a second, over all processes
   * @param waiting messages that this process has for it
   */
  take(limit: number, waiting: number): boolean {
    const now = performance.now();
    // After a change, what was reserved for the former limit may be minutes away.
    if (limit !== this.limit || now - this.nextAt > STALE) this.left = 0;
    this.limit = limit;
    if (this.left > 0 && now >= this.nextAt) {
      this.left--;
      this.nextAt += 1_000 / limit;
      return true;
    }
    if (this.left > 0) this.wakeIn(this.nextAt - now);
    else if (!this.isAsking && this.timer === undefined) void this.ask(limit, waiting);
    return false;
  }

  private async ask(limit: number, waiting: number): Promise<void> {
    const interval = 1_000 / limit;
    const messages = Math.max(1, Math.min(Math.round(LEASE / interval), waiting));
    this.isAsking = true;
    try {
      const key = `${this.destination} ${limit}`;
      const wait = await this.store.reserve(key, messages * interval);
      this.nextAt = performance.now() + wait;
      this.left = limit === this.limit ? messages : 0;
      this.wakeIn(wait);
      this.forgetFormer(key);
    } catch {
      // The queue's health has been told. Nothing is sent past the limit meanwhile.
      this.wakeIn(RETRY_INTERVAL);
    } finally {
      this.isAsking = false;
    }
  }

  /** Nobody waits for it: what the store does not forget now is small, and goes after a while. */
  private forgetFormer(key: string): void {
    const former = this.reserved;
    this.reserved = key;
    if (former !== undefined && former !== key) this.store.forget(former).catch(() => undefined);
  }

  private wakeIn(milliseconds: number): void {
    this.timer ??= setTimeout(
      () => {
        this.timer = undefined;
        this.resume();
      },
      Math.min(Math.max(milliseconds, TICK), LONGEST_WAIT),
    ).unref();
  }
}
