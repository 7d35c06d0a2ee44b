import { limitOf } from './destination-pace.js';
import type { DestinationQueue } from './destination-queue.js';
import { JobSizes, type SizedJob } from './job-sizes.js';

/** Batches that a destination may have in hand, whatever its rate, while there are places for them. */
export const MIN_BATCHES = 2;
/** Share of the jobs in hand that the destinations divide. The rest is for newcomers, which have none in hand. */
const HELD_SHARE = 3 / 4;
/**
 * Share of the jobs in hand up to which nothing is divided: there are enough places for everyone, and a job that is put
 * back has to be read from the queue again.
 */
const UNDIVIDED_SHARE = 1 / 4;
/** Share of the jobs in hand up to which newcomers whose latest request took long get a place. */
const SLOW_SHARE = 7 / 8;
/** Share of the jobs in hand that may wait for the `rateLimit` of their destinations. */
const LIMITED_SHARE = 1 / 2;

/** Divides the jobs that a process has in hand between the destinations. */
export class JobShares {
  /** Destinations that have batches in hand. */
  active = 0;
  /** Jobs in hand of destinations with a `rateLimit`. */
  private readonly limited = new JobSizes();
  private readonly held = new JobSizes();

  /**
   * @param most most jobs that the process has in hand
   * @param maxSize most characters of their messages together
   * @param lookedUpFor jobs in hand that wait for a look-up
   */
  constructor(
    private readonly most: number,
    private readonly maxSize: number,
    private readonly lookedUpFor: Pick<JobSizes, 'jobs'> = new JobSizes(),
  ) {}

  /** Counts a batch of this job as in hand. */
  take(job: SizedJob, isLimited: boolean): void {
    this.held.add(job);
    if (isLimited) this.limited.add(job);
  }

  release(job: SizedJob, isLimited: boolean): void {
    if (isLimited) this.limited.remove(job);
    this.held.remove(job);
  }

  /** Updates the counted size of a job that has become smaller. */
  shrunk(job: SizedJob): void {
    this.held.recount(job);
  }

  /** Returns the number of places that are free for this destination and others like it. */
  freeFor(queue: DestinationQueue): number {
    return Math.min(this.free, this.freeByLimit(queue));
  }

  /** The same for put-back jobs that may return now. A job that can be sent at once waits for no `rateLimit`. */
  promotableFor(queue: DestinationQueue): number {
    return queue.canSend ? this.free : this.freeFor(queue);
  }

  /** Whether a destination waits because others hold the places. */
  isFullFor(queue: DestinationQueue): boolean {
    return this.isFull || this.freeFor(queue) <= 0;
  }

  /**
   * Returns how many more batches a destination may have in hand; 0 or less if none. The places for newcomers go to
   * destinations that have none in hand and can send one at once. Slow ones get fewer, since their places would not be
   * free again for a while. A place beyond those for destinations with a `rateLimit` is given by the same rules.
   */
  roomFor(queue: DestinationQueue): number {
    if (this.free <= 0) return 0;
    if (this.isFull || this.freeByLimit(queue) <= 0)
      return (this.hasPlaceFor(queue) ? 1 : 0) - queue.batches.count;
    const undivided = this.jobs * UNDIVIDED_SHARE - this.taken;
    const fairShare = (this.jobs * HELD_SHARE) / Math.max(this.active, 1);
    return Math.max(undivided, Math.max(MIN_BATCHES, fairShare) - queue.batches.count);
  }

  /** Whether places are taken that are not for slow destinations. */
  get isInLastPlaces(): boolean {
    return this.taken > this.jobs * SLOW_SHARE;
  }

  /** Whether slow destinations with this many batches in hand have more places than they may. */
  isTooManyOfSlow(batches: number): boolean {
    return batches > this.jobs * SLOW_SHARE;
  }

  /** Number of jobs in hand that the destinations may have. */
  private get jobs(): number {
    return this.most - this.lookedUpFor.jobs;
  }

  private get free(): number {
    return (this.isFull ? this.jobs : this.jobs * HELD_SHARE) - this.taken;
  }

  /** Returns the free places for destinations with a `rateLimit`; `Infinity` for a destination without one. */
  private freeByLimit({ destination }: DestinationQueue): number {
    return limitOf(destination) === undefined ? Infinity : this.jobs * LIMITED_SHARE - this.limited.jobs;
  }

  private hasPlaceFor({ canSend, window }: DestinationQueue): boolean {
    if (!canSend || window.isFailing) return false;
    return !window.isSlow || this.taken < this.jobs * SLOW_SHARE;
  }

  /** Whether all places but those for newcomers are taken. */
  private get isFull(): boolean {
    return this.taken >= this.jobs * HELD_SHARE;
  }

  /** Number of places that are taken: one per job, however many batches it has, and more if the jobs are large. */
  private get taken(): number {
    const { jobs, total } = this.held;
    return Math.max(jobs, (total / this.maxSize) * this.jobs);
  }
}
