/** Put-back jobs that a process remembers, over all destinations. Others return when they are due. */
const MOST = 100_000;
/** The same for each destination. */
const MOST_OF_ONE = 10_000;
/** What a destination may have where others take up all of the memory, so that it is not idle between its own jobs. */
const LEAST_OF_ONE = 10;

/** Limits what a process remembers of the jobs that it has put back. */
export class JobMemory {
  private jobs = 0;

  /** @param jobs of the same destination that are remembered already */
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
