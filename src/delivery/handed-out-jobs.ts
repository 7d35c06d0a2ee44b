/** How long a delivered job is remembered if its outcome could not be recorded, in milliseconds. */
const KEPT = 600_000;

interface HandedOutJob {
  readonly outcome: Promise<void>;
  /** By `performance.now()`; `undefined` while it is being delivered. */
  endedAt: number | undefined;
}

/**
 * Delivers a job only once if the queue hands it out twice. A queue that does not answer for longer than a job's lock
 * hands the job out again, although this process is still delivering it, or has delivered it and could not record that.
 * The first delivery's outcome is then recorded for the second one. A job with something left calls `recorded` itself.
 */
export class HandedOutJobs {
  /** In the order in which the jobs were handed out. */
  private readonly jobs = new Map<string, HandedOutJob>();

  /** Whether a job was handed out before and its outcome is not recorded yet. */
  has(key: string): boolean {
    return this.jobs.has(key);
  }

  /** Delivers a job, or returns the outcome of an earlier delivery that is not recorded yet. */
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

  /** Forgets a job that is recorded, or about to go back to the queue: the next time, it is delivered again. */
  recorded(key: string): void {
    this.jobs.delete(key);
  }

  /** Forgets jobs whose outcome could not be recorded for long. Another process may have taken them. */
  private forgetOld(): void {
    for (const [key, { endedAt }] of this.jobs) {
      if (endedAt === undefined || performance.now() - endedAt < KEPT) return;
      this.jobs.delete(key);
    }
  }
}
