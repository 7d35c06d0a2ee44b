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
/** Characters of the bodies in a job, at most. */
const LARGEST_JOB = 2 ** 19;
/** Jobs of a partition that may be on their way, however many partitions there are. */
const LEAST_ON_THE_WAY = 2;

/** A worker whose limit of jobs in hand is set here. */
interface BudgetedWorker {
  concurrency: number;
}

/** A job in hand. */
export interface JobPlace {
  /** It has got its turn: its messages are sent, or it goes back to the queue. */
  begin(): void;
  /** It is about to go back to the queue. */
  putBack(): void;
  /** It is finished, or back in the queue. */
  leave(): void;
}

/** Jobs in hand of one worker. */
interface WorkerJobs {
  inHand: number;
  /** Looked for, or on their way back to the queue. */
  moving: number;
  /** Read from the queue, and not in hand. */
  readonly read: Set<unknown>;
  /** In hand, and waiting for their turn. */
  waitingForTurn: number;
  /** That come with the end of others. */
  coming: number;
  /** Those of them that have come and are not in hand. */
  readonly fetched: Set<unknown>;
  /** Looks for a job that wait, in order. */
  readonly waitingLooks: (() => void)[];
}

/**
 * Divides the jobs that a process has in hand among its workers, one for each partition. A part is kept for each,
 * and each may take all of the rest. A worker looks for no more jobs while many are on their way, or wait for their turn:
 * BullMQ would read as many as it may have before it begins the first, and each may be a megabyte.
 */
export class JobBudget {
  private readonly workers = new Map<BudgetedWorker, WorkerJobs>();

  /**
   * @param jobs that the process has in hand
   * @param maxSize characters of the jobs that it has read and not begun to deliver
   */
  constructor(
    private readonly jobs: number,
    private readonly maxSize: number,
  ) {}

  join(worker: BudgetedWorker): void {
    this.workers.set(worker, {
      inHand: 0,
      moving: 0,
      read: new Set(),
      waitingForTurn: 0,
      coming: 0,
      fetched: new Set(),
      waitingLooks: [],
    });
    this.divide();
  }

  /** Runs a worker's look for a job, when it may have another one. */
  async look<T>(worker: BudgetedWorker, look: () => Promise<T>): Promise<T> {
    const jobs = this.jobsOf(worker);
    if (!this.mayLook(jobs)) await new Promise<void>((resolve) => jobs.waitingLooks.push(resolve));
    jobs.moving++;
    this.divide();
    try {
      const job = await look();
      if (job !== undefined) jobs.read.add(job);
      return job;
    } finally {
      jobs.moving--;
      this.lookOn(jobs);
      this.divide();
    }
  }

  /**
   * Runs the end of a job, which may bring the next one. A receiver that answers after a while ends hundreds of jobs at once.
   *
   * @param isWanted whether the worker may have another job
   */
  async end<T>(
    worker: BudgetedWorker,
    isWanted: boolean,
    end: (fetchNext: boolean) => Promise<T>,
  ): Promise<T> {
    const jobs = this.jobsOf(worker);
    if (!isWanted || onTheWay(jobs) >= this.mostOnTheWay) return end(false);
    jobs.coming++;
    let job: T | undefined;
    try {
      job = await end(true);
      return job;
    } finally {
      if (job === undefined) jobs.coming--;
      else jobs.fetched.add(job);
    }
  }

  /** A worker has a job in hand. */
  take(worker: BudgetedWorker, job?: unknown): JobPlace {
    const jobs = this.jobsOf(worker);
    let hasBegun = false;
    let isPutBack = false;
    jobs.inHand++;
    forget(jobs, job);
    jobs.waitingForTurn++;
    this.divide();
    const begin = (): void => {
      if (hasBegun) return;
      hasBegun = true;
      jobs.waitingForTurn--;
      this.lookOn(jobs);
    };
    return {
      begin,
      putBack: () => {
        if (isPutBack) return;
        isPutBack = true;
        jobs.moving++;
        begin();
        this.divide();
      },
      leave: () => {
        begin();
        jobs.inHand--;
        if (isPutBack) {
          jobs.moving--;
          this.lookOn(jobs);
        }
        this.divide();
      },
    };
  }

  /** A job has ended. BullMQ fails some without beginning them, such as the parent of a flow whose child has failed. */
  ended(worker: BudgetedWorker, job: unknown): void {
    if (forget(this.jobsOf(worker), job)) this.divide();
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

  private lookOn(jobs: WorkerJobs): void {
    if (this.mayLook(jobs)) jobs.waitingLooks.shift()?.();
  }

  /**
   * What is on its way holds back looks only: BullMQ would see a lower `concurrency` raised when a job ends. Nor may a look
   * wait for a job that was read: BullMQ begins it after the look.
   */
  private mayLook({ moving, waitingForTurn }: WorkerJobs): boolean {
    return moving < MOVED_AT_ONCE && moving + waitingForTurn < this.mostOnTheWay;
  }

  /** Of each partition. */
  private get mostOnTheWay(): number {
    return Math.max(Math.floor(this.maxSize / LARGEST_JOB / this.workers.size), LEAST_ON_THE_WAY);
  }
}

function onTheWay({ moving, waitingForTurn, coming }: WorkerJobs): number {
  return moving + waitingForTurn + coming;
}

/** Whether a job was read, and not in hand. */
function forget(jobs: WorkerJobs, job: unknown): boolean {
  if (!jobs.fetched.delete(job)) return jobs.read.delete(job);
  jobs.coming--;
  return true;
}
