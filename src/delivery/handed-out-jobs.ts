/** How long it is known that a job was delivered, where that could not be recorded, in milliseconds. */
const KEPT = 600_000;

interface HandedOutJob {
  readonly outcome: Promise<void>;
  /** By `performance.now()`; `undefined` while it is being delivered. */
  endedAt: number | undefined;
}

/**
 * Delivers a job that the queue hands out twice once. A queue that does not answer for longer than the lock of a job hands it
 * out again, although this process is still delivering it, or has delivered it and could not record that. What the first
 * delivery comes to is then recorded for the second one. A job of which something is left says so itself.
 */
export class HandedOutJobs {
  /** In the order in which they were handed out. */
  private readonly jobs = new Map<string, HandedOutJob>();

  /** Whether a job was handed out before, and that is not recorded yet. */
  has(key: string): boolean {
    return this.jobs.has(key);
  }

  /** Delivers a job, unless it was handed out before and that is not recorded yet. */
  deliver(key: string, deliver: () => Promise<void>): Promise<void> {
    const known = this.jobs.get(key);
    if (known !== undefined) return known.outcome;
    this.forgetOld();
    const outcome = deliver();
    const job: HandedOutJob = { outcome, endedAt: undefined };
    this.jobs.set(key, job);
    outcome.then(
      () => {
        job.endedAt = performance.now();
      },
      () => {
        this.recorded(key);
      },
    );
    return outcome;
  }

  /** Its outcome is recorded, or it is about to go back to the queue: the next time it is delivered again. */
  recorded(key: string): void {
    this.jobs.delete(key);
  }

  /** Another process may have taken those that could not be recorded. */
  private forgetOld(): void {
    for (const [key, { endedAt }] of this.jobs) {
      if (endedAt === undefined || performance.now() - endedAt < KEPT) return;
      this.jobs.delete(key);
    }
  }
}
