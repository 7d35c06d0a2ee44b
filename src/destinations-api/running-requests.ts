import { RequestRefusal } from '../http/request-refusal.js';

/** Milliseconds until the sender should retry a refused request. */
const RETRY = 1_000;

/** Limits the expensive requests of each tenant, so that one tenant leaves room for all others. */
export class RunningRequests {
  /** By tenant; `''` stands for the operator. */
  private readonly running = new Map<string, number>();
  private count = 0;

  /**
   * @param most maximum number of requests of one tenant at once
   * @param refusal message that refuses a further request
   */
  constructor(
    private readonly most: number,
    private readonly refusal = `${most} requests of this kind are being answered: wait until one of them has ended.`,
  ) {}

  /** Number of running requests of all tenants. */
  get total(): number {
    return this.count;
  }

  /** Runs work, which counts until it ends. @throws {RequestRefusal} if the tenant has too many running requests */
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
