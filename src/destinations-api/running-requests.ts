import { RequestRefusal } from '../http/request-refusal.js';

/** When to send a refused request again, in milliseconds. */
const RETRY = 1_000;

/** Keeps one tenant's expensive requests from taking what all others need. */
export class RunningRequests {
  /** By the tenant; empty for the operator. */
  private readonly running = new Map<string, number>();
  private count = 0;

  /**
   * @param most requests of one tenant at once
   * @param refusal why one more is refused
   */
  constructor(
    private readonly most: number,
    private readonly refusal = `${most} requests of this kind are being answered: wait until one of them has ended.`,
  ) {}

  /** How many are running, of all tenants. */
  get total(): number {
    return this.count;
  }

  /** Runs work that counts until it ends. @throws {RequestRefusal} if the tenant has too much running */
  async run<T>(tenant = '', work: () => Promise<T>): Promise<T> {
    const end = this.begin(tenant);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Counts a request until the returned function is called. @throws {RequestRefusal} as `run` */
  begin(tenant = ''): () => void {
    const count = this.running.get(tenant) ?? 0;
    if (count >= this.most) {
      throw new RequestRefusal(429, 'TOO_MANY_REQUESTS', this.refusal, RETRY);
    }
    this.running.set(tenant, count + 1);
    this.count++;
    return () => {
      this.end(tenant);
    };
  }

  private end(tenant: string): void {
    this.count--;
    const count = this.running.get(tenant) ?? 0;
    if (count > 1) this.running.set(tenant, count - 1);
    else this.running.delete(tenant);
  }
}
