import { FAILURES_UNTIL_DOWN } from '../destination.js';

/** The breaker stays open for this share of the retry window at first (5 s of 4 hours), and twice as long each time. */
const FIRST_PAUSE_SHARE = 1 / 2_880;
/** The longest that it stays open between two probes: 5 minutes of 4 hours. */
const LONGEST_PAUSE_SHARE = 1 / 48;
/** While the URL recovers or is probed, it is worth asking again after this share of the window: 1 s of 4 hours. */
const NEXT_LOOK_SHARE = 1 / 14_400;
/** A URL that came back gets this many requests at once, one more for each that it answers, one less for each failure. */
const FIRST_ALLOWANCE = 2;
/** The URL has recovered when it takes this many at once. */
const FULL_ALLOWANCE = 64;

/**
 * Keeps requests from a URL that does not take them. After some failures in a row nothing is sent for a
 * while; then a single probe finds out whether the URL lives again, and if so, the backlog is let out at
 * a rising rate rather than in one blow.
 *
 * All times are milliseconds of one clock, which may be set back.
 */
export class EndpointBreaker {
  private failures = 0;
  private pause: number;
  /** When the next probe is due; `undefined` while the breaker is closed. */
  private openUntil: number | undefined;
  private probing = false;
  /** Failures of requests that began before tell of an outage that is known. */
  private newsSince = -Infinity;
  /** Requests that may be in flight; less than all while the URL recovers. */
  private allowance = Infinity;
  private inFlight = 0;
  private latest = -Infinity;

  /** @param retryWindow milliseconds during which a message is retried: the pauses follow from it */
  constructor(private readonly retryWindow: number) {
    this.pause = this.firstPause;
  }

  get isOpen(): boolean {
    return this.openUntil !== undefined;
  }

  /** Milliseconds after which it is worth asking again. */
  wait(now: number): number {
    this.follow(now);
    return Math.max((this.openUntil ?? now) - now, this.retryWindow * NEXT_LOOK_SHARE);
  }

  /**
   * Whether a request may be sent now. Each that may is to be followed by one of the `record` methods.
   *
   * @param force always admits: a message's last attempt is made whatever the breaker knows
   */
  admit(now: number, force: boolean): boolean {
    this.follow(now);
    const isProbe = this.openUntil !== undefined && this.openUntil <= now && !this.probing;
    const mayPass = this.isOpen ? isProbe : this.inFlight < this.allowance;
    if (!mayPass && !force) return false;
    if (isProbe) {
      this.probing = true;
      this.newsSince = now;
    }
    this.inFlight++;
    return true;
  }

  /** The URL answered; it lives, whether or not it liked the message. */
  recordAnswer(now: number): void {
    this.follow(now);
    this.inFlight--;
    this.failures = 0;
    if (this.isOpen) {
      this.openUntil = undefined;
      this.probing = false;
      this.newsSince = now;
      this.allowance = FIRST_ALLOWANCE;
      return;
    }
    this.allowance++;
    if (this.allowance < FULL_ALLOWANCE) return;
    this.allowance = Infinity;
    this.pause = this.firstPause;
  }

  /**
   * @param startedAt when the request was admitted
   * @param retryAfter milliseconds that the receiver asked to be left alone
   */
  recordFailure(startedAt: number, now: number, retryAfter = 0): void {
    this.follow(now);
    this.inFlight--;
    // Nobody needs to be left alone for longer than any message is retried.
    const floor = now + Math.min(retryAfter, this.retryWindow);
    const isNews = startedAt >= this.newsSince;
    if (this.openUntil !== undefined && !(this.probing && isNews)) {
      this.openUntil = Math.max(this.openUntil, floor);
      return;
    }
    if (!isNews) return;
    this.failures++;
    this.allowance--;
    if (this.isOpen || this.failures >= FAILURES_UNTIL_DOWN || this.allowance === 0) this.open(now, floor);
  }

  /**
   * The request was broken off and tells nothing.
   *
   * @param startedAt when it was admitted
   */
  recordNothing(startedAt: number): void {
    this.inFlight--;
    if (startedAt >= this.newsSince) this.probing = false;
  }

  private get firstPause(): number {
    return this.retryWindow * FIRST_PAUSE_SHARE;
  }

  private open(now: number, floor: number): void {
    this.probing = false;
    this.newsSince = Infinity;
    this.allowance = Infinity;
    this.openUntil = Math.max(now + this.pause, floor);
    this.pause = Math.min(this.pause * 2, this.retryWindow * LONGEST_PAUSE_SHARE);
  }

  /** Goes back with a clock that was set back: else the breaker would stay open until the clock caught up. */
  private follow(now: number): void {
    const back = this.latest - now;
    this.latest = now;
    if (back <= 0) return;
    this.newsSince -= back;
    if (this.openUntil !== undefined) this.openUntil -= back;
  }
}
