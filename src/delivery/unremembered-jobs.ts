/** Jobs that were put back for about the same time. They are assumed to return evenly until the last of them is due. */
interface SimilarJobs {
  jobs: number;
  messages: number;
  /** When they were counted, in milliseconds since the epoch. */
  at: number;
  /** When the last of them is due, in milliseconds since the epoch. */
  until: number;
}

/**
 * Estimates how many put-back jobs of one destination are not remembered, since there is no room for them. The estimate
 * takes the same memory for any number of jobs.
 */
export class UnrememberedJobs {
  /** By the time for which the jobs were put back, as a power of two. */
  private readonly similar = new Map<number, SimilarJobs>();

  /**
   * @param dueAt in milliseconds since the epoch
   * @param now milliseconds since the epoch
   */
  add(messages: number, dueAt: number, now: number): void {
    this.pass(now);
    const power = Math.ceil(Math.log2(Math.max(dueAt - now, 1)));
    const others = this.similar.get(power) ?? { jobs: 0, messages: 0, until: dueAt };
    this.similar.set(power, {
      jobs: others.jobs + 1,
      messages: others.messages + messages,
      at: now,
      until: Math.max(others.until, dueAt),
    });
  }

  get isEmpty(): boolean {
    return this.similar.size === 0;
  }

  /** Returns how many jobs are not due yet, and how many messages all of them have. */
  waiting(now: number): { jobs: number; messages: number } {
    this.pass(now);
    const sum = { jobs: 0, messages: 0 };
    for (const { jobs, messages } of this.similar.values()) {
      sum.jobs += jobs;
      sum.messages += messages;
    }
    return sum;
  }

  private pass(now: number): void {
    for (const [power, similar] of this.similar) {
      const { at, until } = similar;
      if (until <= now) {
        this.similar.delete(power);
        continue;
      }
      // The clock may be set back.
      const left = Math.min((until - now) / (until - at), 1);
      similar.jobs *= left;
      similar.messages *= left;
      similar.at = now;
      similar.until = Math.min(until, now + 2 ** power);
    }
  }
}
