import { RequestRefusal } from '../http/request-refusal.js';

/** Requests of one tenant at once that send test events or read the jobs of the queue. */
const MOST = 4;
/** When to send a refused request again, in milliseconds. */
const RETRY = 1_000;

/** Keeps one tenant's expensive requests from taking what all others need. */
export class RunningRequests {
  /** By the tenant; empty for the operator. */
  private readonly running = new Map<string, number>();

  /** Runs work that counts until it ends. @throws {RequestRefusal} if the tenant has too much running */
  async run<T>(tenant = '', work: () => Promise<T>): Promise<T> {
    const count = this.running.get(tenant) ?? 0;
    if (count >= MOST) {
      throw new RequestRefusal(
        429,
        'TOO_MANY_REQUESTS',
        `${MOST} requests of this kind are being answered: wait until one of them has ended.`,
        RETRY,
      );
    }
    this.running.set(tenant, count + 1);
    try {
      return await work();
    } finally {
      this.end(tenant);
    }
  }

  private end(tenant: string): void {
    const count = this.running.get(tenant) ?? 0;
    if (count > 1) this.running.set(tenant, count - 1);
    else this.running.delete(tenant);
  }
}
