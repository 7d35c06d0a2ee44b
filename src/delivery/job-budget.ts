/** Share of the jobs in hand that is kept for the partitions, so that none waits for the jobs of another. */
const KEPT_SHARE = 1 / 4;
/**
 * Most jobs of a partition that are taken and put back at a time. There may be hundreds without a place here. If all of
 * them came and went at once, the commands for delivered jobs would wait behind theirs until the locks expire.
 */
const MOVED_AT_ONCE = 16;
/** Most jobs of a partition that are read before the first is begun. Each waits while those after it are read. */
const READ_AHEAD = 2;
/** Most characters of the bodies in a job. */
const LARGEST_JOB = 2 ** 19;
/** Jobs of a partition that may always be on their way, however many partitions there are. */
const LEAST_ON_THE_WAY = 2;

/** A worker whose limit of jobs in hand is set here. */
interface BudgetedWorker {
  concurrency: number;
}

/** A job in hand. */
export interface JobPlace {
  /** Called when the job gets its turn: its messages are sent, or the job goes back to the queue. */
  begin(): void;
  /** Called when the job is about to go back to the queue. */
  putBack(): void;
  /** Called when the job is finished, or back in the queue. */
  leave(): void;
}

/** Jobs in hand of one worker. */
interface WorkerJobs {
  inHand: number;
  /** Jobs that are looked for, or on their way back to the queue. */
  moving: number;
  /** Jobs that were read from the queue and are not in hand yet. */
  readonly read: Set<unknown>;
  /** Jobs in hand that wait for their turn. */
  waitingForTurn: number;
  /** Jobs that come with the end of other jobs. */
  coming: number;
  /** Jobs of `coming` that have come and are not in hand yet. */
  readonly fetched: Set<unknown>;
  /** Waiting looks for a job, in order. */
  readonly waitingLooks: (() => void)[];
}

/**
 * Divides the jobs that a process has in hand among its workers, one for each partition. A part is kept for each
 * worker, and each may take all of the rest. A worker looks for no more jobs while many are on their way or wait for
 * their turn: BullMQ would read as many jobs as it may have before it begins the first, and each may be a megabyte.
 */
export class JobBudget {
  private readonly workers = new Map<BudgetedWorker, WorkerJobs>();

  /**
   * @param jobs most jobs that the process has in hand
   * @param maxSize most characters of the jobs that are read and whose delivery has not begun
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

  /** Runs a worker's look for a job once the worker may have another one. */
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
   * Runs the end of a job, which may bring the next one. A slow receiver's answer may end hundreds of jobs at once.
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

  /** Counts a job that a worker has in hand. */
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

  /** Forgets an ended job. BullMQ fails some without beginning them, such as a flow's parent whose child has failed. */
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
   * Jobs on their way hold back looks instead of lowering `concurrency`: BullMQ would see it raised again only when a
   * job ends. A look must not wait for a job that was read either: BullMQ begins that job after the look.
   */
  private mayLook({ moving, waitingForTurn }: WorkerJobs): boolean {
    return moving < MOVED_AT_ONCE && moving + waitingForTurn < this.mostOnTheWay;
  }

  /** Most jobs of each partition that may be on their way. */
  private get mostOnTheWay(): number {
    return Math.max(Math.floor(this.maxSize / LARGEST_JOB / this.workers.size), LEAST_ON_THE_WAY);
  }
}

function onTheWay({ moving, waitingForTurn, coming }: WorkerJobs): number {
  return moving + waitingForTurn + coming;
}

/** Forgets that a job was read. Returns whether it was read and not in hand. */
function forget(jobs: WorkerJobs, job: unknown): boolean {
  if (!jobs.fetched.delete(job)) return jobs.read.delete(job);
  jobs.coming--;
  return true;
}
