/** A job in memory. */
export interface SizedJob {
  /** Characters of its messages. */
  size: number;
}

/** A job that is counted. */
interface CountedJob {
  size: number;
  /** How often the job was added and not removed. */
  times: number;
}

/** Counts jobs and the characters in them. A job counts once, and as a whole, since all of it stays in memory. */
export class JobSizes {
  /** Characters of all jobs. */
  total = 0;
  private readonly counted = new Map<SizedJob, CountedJob>();

  get jobs(): number {
    return this.counted.size;
  }

  has(job: SizedJob): boolean {
    return this.counted.has(job);
  }

  add(job: SizedJob): void {
    const counted = this.counted.get(job);
    if (counted !== undefined) counted.times++;
    else {
      this.counted.set(job, { size: job.size, times: 1 });
      this.total += job.size;
    }
  }

  remove(job: SizedJob): void {
    const counted = this.counted.get(job);
    if (counted === undefined || --counted.times > 0) return;
    this.counted.delete(job);
    this.total -= counted.size;
  }

  /** Updates the total when the size of a job has changed. */
  recount(job: SizedJob): void {
    const counted = this.counted.get(job);
    if (counted === undefined) return;
    this.total += job.size - counted.size;
    counted.size = job.size;
  }
}
