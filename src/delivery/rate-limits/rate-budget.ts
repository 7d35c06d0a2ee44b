import type { RateLimitStore } from './rate-limit-store.js';

/** How much of a destination's time a process reserves at once, in milliseconds; always enough for one message. */
const LEASE = 100;
/** Precision of timers, in milliseconds. Messages that are due within this time go out together. */
const TICK = 5;
/** Milliseconds after which unused reserved time is over. */
const STALE = 1_000;
/** How long to wait if the store cannot be reached, in milliseconds. */
const RETRY_INTERVAL = 1_000;
/** Longest wait until the limit is looked at again, in milliseconds: it may have been raised. */
const LONGEST_WAIT = 1_000;

/** Limits what this process sends to one destination with a `rateLimit`, message by message. */
export class RateBudget {
  /** When the next message may be sent, by `performance.now()`. */
  private nextAt = 0;
  /** Messages a second that were allowed at the latest `take`. */
  private limit = 0;
  /** Messages that may still be sent in the reserved time. */
  private left = 0;
  /** The latest key that time was reserved for: the destination, and its limit at that moment. */
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
   * Returns whether a message may be sent now. If not, `resume` is called when it may.
   *
   * @param limit messages a second, over all processes
   * @param waiting number of messages that this process has for the destination
   */
  take(limit: number, waiting: number): boolean {
    const now = performance.now();
    // After a change of the limit, the time reserved for the former limit may be minutes away.
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
      // The queue's health knows of the error. Until the next try, nothing is sent past the limit.
      this.wakeIn(RETRY_INTERVAL);
    } finally {
      this.isAsking = false;
    }
  }

  /** Forgets the former key without waiting: what the store fails to forget is small, and goes after a while. */
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
