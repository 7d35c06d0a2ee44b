/** Share of the jobs in hand that is kept for the partitions, so that none waits for the jobs of another one. */
const KEPT_SHARE = 1 / 4;

/** A worker whose limit of jobs in hand is set here. */
interface BudgetedWorker {
  concurrency: number;
}

/**
 * Divides the jobs that a process has in hand among its workers, one for each partition. A part is kept for each,
 * and each may take all of the rest.
 */
export class JobBudget {
  private readonly inHand = new Map<BudgetedWorker, number>();

  /** @param jobs that the process has in hand */
  constructor(private readonly jobs: number) {}

  join(worker: BudgetedWorker): void {
    this.inHand.set(worker, 0);
    this.divide();
  }

  taken(worker: BudgetedWorker): void {
    this.count(worker, 1);
  }

  ended(worker: BudgetedWorker): void {
    this.count(worker, -1);
  }

  private count(worker: BudgetedWorker, change: 1 | -1): void {
    this.inHand.set(worker, (this.inHand.get(worker) ?? 0) + change);
    this.divide();
  }

  private divide(): void {
    const kept = Math.max(Math.floor((this.jobs * KEPT_SHARE) / this.inHand.size), 1);
    let free = this.jobs;
    for (const jobs of this.inHand.values()) free -= Math.max(jobs, kept);
    for (const [worker, jobs] of this.inHand) worker.concurrency = Math.max(jobs, kept) + Math.max(free, 0);
  }
}
