/** In milliseconds. */
const SECOND = 1_000;

/**
 * Limits how many requests have a span. An SDK exports at its own pace and drops spans that come faster, including
 * those of the application. A backlog that is delivered at full speed must leave room for the application's spans.
 *
 * An owner is a tenant with all of its destinations, or a destination of the application itself. In each second, an
 * owner gets spans as long as more are left than it has had. So a busy owner takes half of them, and leaves some to
 * each of the others.
 */
export class SpanLimit {
  /** Number of requests without a span because of the limit. */
  leftOut = 0;
  private startedAt = -Infinity;
  private made = 0;
  private readonly madeFor = new Map<string, number>();

  /**
   * @param limit spans a second
   * @param now a clock that is never set back, in milliseconds
   */
  constructor(
    private readonly limit: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Returns whether a request to a destination of this owner may have a span. If not, counts it in `leftOut`. */
  allows(owner: string): boolean {
    this.beginSecond();
    if ((this.madeFor.get(owner) ?? 0) < this.limit - this.made) return true;
    this.leftOut++;
    return false;
  }

  /** Counts a span of a request that was made and will be exported. */
  add(owner: string): void {
    this.made++;
    this.madeFor.set(owner, (this.madeFor.get(owner) ?? 0) + 1);
  }

  private beginSecond(): void {
    const now = this.now();
    if (now - this.startedAt < SECOND) return;
    this.startedAt = now;
    this.made = 0;
    this.madeFor.clear();
  }
}
