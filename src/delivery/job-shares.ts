import { limitOf } from './destination-pace.js';
import type { DestinationQueue } from './destination-queue.js';
import { JobSizes, type SizedJob } from './job-sizes.js';

/** Batches that a destination may have in hand, whatever its rate, while there are places for them. */
export const MIN_BATCHES = 2;
/** Share of the jobs in hand that the destinations divide between them. The rest is for newcomers. */
const HELD_SHARE = 3 / 4;
/**
 * Share of the jobs in hand up to which nothing is divided: there are places enough for everyone, and a job that is put back
 * has to be read from the queue again.
 */
const UNDIVIDED_SHARE = 1 / 4;
/** Share of the jobs in hand up to which newcomers get one whose latest request took long. */
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
   * @param jobs that the process has in hand
   * @param maxSize characters of their messages together
   */
  constructor(
    private readonly jobs: number,
    private readonly maxSize: number,
  ) {}

  /** A batch of this job is in hand. */
  take(job: SizedJob, isLimited: boolean): void {
    this.held.add(job);
    if (isLimited) this.limited.add(job);
  }

  release(job: SizedJob, isLimited: boolean): void {
    if (isLimited) this.limited.remove(job);
    this.held.remove(job);
  }

  /** A job has become smaller. */
  shrunk(job: SizedJob): void {
    this.held.recount(job);
  }

  /** How many more jobs there are places for: this destination's, and those of others like it. */
  freeFor(queue: DestinationQueue): number {
    return Math.min(this.free, this.freeByLimit(queue));
  }

  /** The same where a job was put back that may return now. One that can be sent at once waits for no `rateLimit`. */
  promotableFor(queue: DestinationQueue): number {
    return queue.canSend ? this.free : this.freeFor(queue);
  }

  /** Whether a destination waits because others hold the places. */
  isFullFor(queue: DestinationQueue): boolean {
    return this.isFull || this.freeFor(queue) <= 0;
  }

  /**
   * How many more batches a destination may have in hand; 0 or less if none. What is kept for newcomers goes to
   * those that have none in hand and can send one at once, and less of it to slow ones, whose places would not be free
   * again for a while. So does a place beyond those for destinations that wait for their `rateLimit`.
   */
  roomFor(queue: DestinationQueue): number {
    if (this.free <= 0) return 0;
    if (this.isFull || this.freeByLimit(queue) <= 0)
      return (this.hasPlaceFor(queue) ? 1 : 0) - queue.batches.count;
    const undivided = this.jobs * UNDIVIDED_SHARE - this.taken;
    const fairShare = (this.jobs * HELD_SHARE) / Math.max(this.active, 1);
    return Math.max(undivided, Math.max(MIN_BATCHES, fairShare) - queue.batches.count);
  }

  /** Whether places are taken that are none for slow destinations. */
  get isInLastPlaces(): boolean {
    return this.taken > this.jobs * SLOW_SHARE;
  }

  /** Whether slow destinations with so many batches in hand have more places than they may. */
  isTooManyOfSlow(batches: number): boolean {
    return batches > this.jobs * SLOW_SHARE;
  }

  private get free(): number {
    return (this.isFull ? this.jobs : this.jobs * HELD_SHARE) - this.taken;
  }

  /** Places that are free for jobs that wait for their `rateLimit`, if a destination has one. */
  private freeByLimit({ destination }: DestinationQueue): number {
    return limitOf(destination) === undefined ? Infinity : this.jobs * LIMITED_SHARE - this.limited.jobs;
  }

  private hasPlaceFor({ canSend, window }: DestinationQueue): boolean {
    if (!canSend || window.isFailing) return false;
    return !window.isSlow || this.taken < this.jobs * SLOW_SHARE;
  }

  /** All but the places for newcomers are taken. */
  private get isFull(): boolean {
    return this.taken >= this.jobs * HELD_SHARE;
  }

  /** Places that are taken: one for each job, however many batches it has, and more where the jobs are large. */
  private get taken(): number {
    const { jobs, total } = this.held;
    return Math.max(jobs, (total / this.maxSize) * this.jobs);
  }
}
