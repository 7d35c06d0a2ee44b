/** Most put-back jobs that a process remembers, over all destinations. Other jobs return when they are due. */
const MOST = 100_000;
/** Most put-back jobs that a process remembers of one destination. */
const MOST_OF_ONE = 10_000;
/** Jobs of a destination that are remembered even in a full memory, so that it is not idle between its jobs. */
const LEAST_OF_ONE = 10;

/** Limits how many of the jobs that it has put back a process remembers. */
export class JobMemory {
  private jobs = 0;

  /** @param jobs number of jobs of the same destination that are remembered already */
  hasRoomBeside(jobs: number): boolean {
    return jobs < (this.jobs < MOST ? MOST_OF_ONE : LEAST_OF_ONE);
  }

  take(): void {
    this.jobs++;
  }

  release(): void {
    this.jobs--;
  }
}
