/** Share of the jobs in hand that is kept for the partitions, so that none waits for the jobs of another one. */
const KEPT_SHARE = 1 / 4;
/**
 * Jobs of a partition that are taken and put back at a time. There may be hundreds that have no place here. If
 * all of them came and went at once, the commands for those that are delivered would wait behind theirs, until
 * their locks expire.
 */
const MOVED_AT_ONCE = 16;
/** Jobs of a partition that are read before the first of them is begun. Each waits while those after it are read. */
const READ_AHEAD = 2;

/** A worker whose limit of jobs in hand is set here. */
interface BudgetedWorker {
  concurrency: number;
}

/** A job in hand. */
export interface JobPlace {
  /** It is about to go back to the queue. */
  putBack(): void;
  /** It is finished, or back in the queue. */
  leave(): void;
}

/** Jobs in hand of one worker. */
interface WorkerJobs {
  inHand: number;
  /** On their way from the queue or back. */
  moving: number;
  /** Read from the queue, and not begun. */
  readonly read: Set<unknown>;
  /** Looks for a job that wait, in order. */
  readonly waiting: (() => void)[];
}

/**
 * Divides the jobs that a process has in hand among its workers, one for each partition. A part is kept for each,
 * and each may take all of the rest. A worker looks for no more jobs while many are on their way, or wait to be begun:
 * BullMQ would read as many as it may have before it begins the first, and each may be half a megabyte.
 */
export class JobBudget {
  private readonly workers = new Map<BudgetedWorker, WorkerJobs>();

  /** @param jobs that the process has in hand */
  constructor(private readonly jobs: number) {}

  join(worker: BudgetedWorker): void {
    this.workers.set(worker, { inHand: 0, moving: 0, read: new Set(), waiting: [] });
    this.divide();
  }

  /** Runs a worker's look for a job, when it may have another one. */
  async look<T>(worker: BudgetedWorker, look: () => Promise<T>): Promise<T> {
    const jobs = this.jobsOf(worker);
    if (jobs.moving >= MOVED_AT_ONCE) await new Promise<void>((resolve) => jobs.waiting.push(resolve));
    jobs.moving++;
    this.divide();
    try {
      const job = await look();
      if (job !== undefined) jobs.read.add(job);
      return job;
    } finally {
      moved(jobs);
      this.divide();
    }
  }

  /** A worker begins a job. */
  take(worker: BudgetedWorker, job?: unknown): JobPlace {
    const jobs = this.jobsOf(worker);
    let isPutBack = false;
    jobs.inHand++;
    jobs.read.delete(job);
    this.divide();
    return {
      putBack: () => {
        if (isPutBack) return;
        isPutBack = true;
        jobs.moving++;
        this.divide();
      },
      leave: () => {
        jobs.inHand--;
        if (isPutBack) moved(jobs);
        this.divide();
      },
    };
  }

  /** A job has ended. BullMQ fails some without beginning them, such as the parent of a flow whose child has failed. */
  ended(worker: BudgetedWorker, job: unknown): void {
    if (this.jobsOf(worker).read.delete(job)) this.divide();
  }

  private jobsOf(worker: BudgetedWorker): WorkerJobs {
    const jobs = this.workers.get(worker);
    if (jobs === undefined) throw new TypeError('This worker has not joined.');
    return jobs;
  }

  private divide(): void {
    const kept = Math.max(Math.floor((this.jobs * KEPT_SHARE) / this.workers.size), 1);
    let free = this.jobs;
    for (const { inHand } of this.workers.values()) free -= Math.max(inHand, kept);
    for (const [worker, { inHand, moving, read }] of this.workers) {
      const isBusy = moving >= MOVED_AT_ONCE || read.size >= READ_AHEAD;
      worker.concurrency = isBusy ? 1 : Math.max(inHand, kept) + Math.max(free, 0);
    }
  }
}

function moved(jobs: WorkerJobs): void {
  jobs.moving--;
  if (jobs.moving < MOVED_AT_ONCE) jobs.waiting.shift()?.();
}
