interface Waiting {
  readonly tenant: string;
  readonly begin: () => void;
}

/** Limits how much work runs at once. The rest waits, and the tenant with the least running work is next. */
export class TenantTurns {
  /** Amount of running work by tenant. The key is empty for the operator. */
  private readonly running = new Map<string, number>();
  /** In order of arrival: the first has waited longest. */
  private readonly waiting = new Set<Waiting>();
  private free: number;

  /**
   * @param most how much work of all tenants runs at once
   * @param mostOfTenant how much work of one tenant runs at once
   */
  constructor(
    most: number,
    private readonly mostOfTenant: number,
  ) {
    this.free = most;
  }

  /** Runs work when its turn comes. Rejects with the signal's reason if the signal aborts before that. */
  async run<T>(tenant: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.free > 0 && this.mayBegin(tenant)) this.begin(tenant);
    else await this.turnOf(tenant, signal);
    try {
      return await work();
    } finally {
      this.end(tenant);
    }
  }

  private turnOf(tenant: string, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.waiting.delete(waiting);
        reject(signal?.reason as Error);
      };
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        this.waiting.delete(waiting);
        this.begin(tenant);
        resolve();
      };
      const waiting = { tenant, begin };
      this.waiting.add(waiting);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  private begin(tenant: string): void {
    this.free--;
    this.running.set(tenant, this.runningOf(tenant) + 1);
  }

  private end(tenant: string): void {
    this.free++;
    const rest = this.runningOf(tenant) - 1;
    if (rest > 0) this.running.set(tenant, rest);
    else this.running.delete(tenant);
    let next: Waiting | undefined;
    for (const waiting of this.waiting) {
      if (!this.mayBegin(waiting.tenant)) continue;
      if (next === undefined || this.runningOf(waiting.tenant) < this.runningOf(next.tenant)) next = waiting;
    }
    next?.begin();
  }

  private mayBegin(tenant: string): boolean {
    return this.runningOf(tenant) < this.mostOfTenant;
  }

  private runningOf(tenant: string): number {
    return this.running.get(tenant) ?? 0;
  }
}
