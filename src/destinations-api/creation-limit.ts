import { RequestRefusal } from '../http/request-refusal.js';

const DAY = 86_400_000;
/** How many times its limit of destinations a tenant may add in a day. */
const TIMES = 20;

/**
 * Limits how many destinations a tenant adds in a day. A deleted destination no longer counts against the tenant's
 * limit, but is remembered for months.
 */
export class CreationLimit {
  /** Destinations added since the day began, by tenant. */
  private readonly added = new Map<string, number>();
  private endsAt = -Infinity;
  private readonly most: number;

  /**
   * @param limitPerTenant destinations that a tenant may have
   * @param now a monotonic clock, in milliseconds
   */
  constructor(
    limitPerTenant: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.most = limitPerTenant * TIMES;
  }

  /**
   * Calls `add`, and counts the destination that it added.
   *
   * @throws {RequestRefusal} if the tenant has added too many; then `add` is not called
   */
  async run<T>(tenant: string, add: () => Promise<T>): Promise<T> {
    const now = this.now();
    if (now >= this.endsAt) {
      this.added.clear();
      this.endsAt = now + DAY;
    }
    if (this.countOf(tenant) >= this.most && this.most > 0) throw this.refusal(this.endsAt - now);
    const result = await add();
    this.added.set(tenant, this.countOf(tenant) + 1);
    return result;
  }

  private countOf(tenant: string): number {
    return this.added.get(tenant) ?? 0;
  }

  private refusal(wait: number): RequestRefusal {
    return new RequestRefusal(
      429,
      'RATE_LIMITED',
      `You have added ${this.most} destinations within a day: you can add more once that day is over.`,
      wait,
    );
  }
}
