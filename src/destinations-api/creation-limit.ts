import { RequestRefusal } from '../http/request-refusal.js';

const DAY = 86_400_000;
/** How often a tenant may fill its places again in a day. */
const TIMES = 20;

/**
 * Limits how many destinations a tenant adds in a day: a deleted one is remembered for months, and no longer counts
 * against the tenant's limit.
 */
export class CreationLimit {
  /** Since the day began, by the tenant. */
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
   * Counts what was added.
   *
   * @throws {RequestRefusal} if the tenant has added too many; then nothing is
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
      `You have added ${this.most} destinations within a day, and may add no more until it is over.`,
      wait,
    );
  }
}
