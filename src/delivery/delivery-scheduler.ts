import type { AttemptTerms, Destination } from '../destinations/destination.js';
import { type QueuedMessage, sizeOfBodies } from '../queue/batch-job.js';
import { type CapacityOptions, DestinationCapacities } from './destination-capacities.js';
import { enoughFor, leastFor } from './destination-pace.js';
import { DestinationQueue, type DestinationQueueObserver } from './destination-queue.js';
import { DestinationWindow } from './destination-window.js';
import type { BatchResults, GivenBack } from './held-batch.js';
import { JobMemory } from './job-memory.js';
import { JobShares, MIN_BATCHES } from './job-shares.js';
import type { JobSizes, SizedJob } from './job-sizes.js';
import { KnownSlow } from './known-slow.js';
import { LEAST_DELAY, lookDelay, putBackDelay } from './put-back-delay.js';
import { type PutBackJob, PutBackJobs } from './put-back-jobs.js';
import { RateBudget } from './rate-limits/rate-budget.js';
import type { RateLimitStore } from './rate-limits/rate-limit-store.js';
import { RunningSince } from './running-since.js';

/** Milliseconds between two rounds of promotions, since another process may have taken promoted jobs. */
const REFILL_INTERVAL = 100;
/** A destination is forgotten when it has had nothing to do for this long, in milliseconds. */
const FORGET_AFTER = 60_000;

export interface DeliverySchedulerOptions extends CapacityOptions {
  /** Requests that a destination may have on their way, if requests carry several messages. */
  batches: number;
  /** Most jobs that the worker has in hand. */
  jobs: number;
  /** Most characters of these jobs' bodies together. Large jobs leave room for fewer. @default no limit */
  maxSize?: number;
  /** Jobs in hand that wait for a look-up, and take places. @default none */
  lookedUpFor?: Pick<JobSizes, 'jobs'>;
  /** Shares the time of destinations with a `rateLimit` among all processes. */
  rateLimits: RateLimitStore;
  /** Makes the queue hand out a put-back job at once. */
  promote: (key: string) => Promise<void>;
}

/**
 * Decides which destination's turn it is. Each destination has a fair share of the jobs that this process has in hand.
 * A job above that share goes back to the queue. The job returns when the destination should be done with the work
 * before it, or earlier if the destination is faster. So the head of the queue stays free, however much waits for one
 * destination. Work in hand is sent in turn, as the destination's window, the sockets of its origins and the limit of
 * the process allow.
 */
export class DeliveryScheduler implements DestinationQueueObserver {
  readonly running = new RunningSince();
  private readonly queues = new Map<string, DestinationQueue>();
  private readonly capacities: DestinationCapacities;
  private readonly shares: JobShares;
  private readonly memory = new JobMemory();
  private readonly slow = new KnownSlow();
  /** Destinations with put-back jobs, counted at intervals. */
  private waiting = 0;
  private sweptAt = performance.now();
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(private readonly options: DeliverySchedulerOptions) {
    this.capacities = new DestinationCapacities(options);
    this.shares = new JobShares(options.jobs, options.maxSize ?? Infinity, options.lookedUpFor);
  }

  /**
   * Returns 0 if this process takes a batch in hand now, else the milliseconds after which to ask again.
   *
   * @param messages number of messages in the batch
   */
  delayOf(destination: Destination, messages: number): number {
    const queue = this.queueOf(destination);
    if (this.mayHold(queue, messages)) return 0;
    // Nothing is promoted any more, and another process may have room.
    if (this.isStopped) return LEAST_DELAY;
    return putBackDelay(queue, this.shares.isFullFor(queue) ? this.waiting + 1 : 0);
  }

  /**
   * Returns how long a batch waits if all of its URLs are held back, in milliseconds. The more such batches there are,
   * the more rarely each of them looks again, so that a backlog costs the same whatever its length. The batches are
   * promoted when their destination takes messages again.
   *
   * @param wait milliseconds until a URL may be asked
   */
  lookAgainAfter(destination: Destination, wait: number): number {
    return lookDelay(destination, this.queues.get(destination.id)?.putBack.size ?? 0, wait);
  }

  /**
   * Sends a batch when its turn comes. Resolves to the result of each message, in their order, or to a `GivenBack` if
   * others need the batch's place.
   *
   * @param job the job that the batch is in
   */
  deliver(
    destination: Destination,
    messages: readonly QueuedMessage[],
    terms: AttemptTerms,
    job: SizedJob = { size: sizeOfBodies(messages) },
  ): Promise<BatchResults | GivenBack> {
    if (messages.length === 0) return Promise.resolve([]);
    const queue = this.queueOf(destination);
    const isLimited = destination.rateLimit !== undefined;
    if (queue.batches.count === 0) this.shares.active++;
    this.shares.take(job, isLimited);
    return new Promise((resolve) => {
      queue.deliver(messages, terms, (end) => {
        this.shares.release(job, isLimited);
        resolve(end);
      });
      if (isLimited && this.isStopped) queue.breakOff();
    });
  }

  /** Updates the counted size of a job that takes less memory now. */
  shrunk(job: SizedJob): void {
    this.shares.shrunk(job);
  }

  /** Begins to promote put-back jobs at intervals, even if another process took the jobs that were promoted before. */
  start(): void {
    this.timer = setInterval(() => {
      this.refillAll();
    }, REFILL_INTERVAL).unref();
  }

  /** Called when the process is about to end. Nothing is promoted any more, and nothing waits for a `rateLimit`. */
  stop(): void {
    this.isStopped = true;
    clearInterval(this.timer);
    for (const queue of this.queues.values()) queue.breakOff();
  }

  /** Remembers put-back jobs, to promote them when there is room: parts of a batch that had its turn come first. */
  putBack(destination: Destination, jobs: readonly PutBackJob[], areParts = false): void {
    this.queueOf(destination).putBack.add(jobs, areParts);
  }

  /** Notes that a put-back job has returned. */
  returned(destination: string, key: string): void {
    this.queues.get(destination)?.putBack.returned(key, Date.now());
  }

  private mayHold(queue: DestinationQueue, messages: number): boolean {
    if (this.shares.roomFor(queue) <= 0) return false;
    return queue.batches.count < MIN_BATCHES || queue.batches.unsent + messages <= enoughFor(queue);
  }

  private queueOf(destination: Destination): DestinationQueue {
    const known = this.queues.get(destination.id);
    if (known !== undefined) {
      if (known.destination !== destination || known.origins !== destination.origins) {
        this.capacities.rejoin(known, destination);
      }
      return known;
    }
    const { requestSize, id } = destination;
    const { connections, batches, eventLoop, rateLimits } = this.options;
    const queue = new DestinationQueue(destination, {
      window: new DestinationWindow(requestSize === 1 ? connections : batches, this.slow.take(id)),
      putBack: new PutBackJobs(this.memory),
      observer: this,
      eventLoop,
      createBudget: (resume) => new RateBudget(rateLimits, id, resume),
    });
    this.capacities.join(queue, destination);
    this.queues.set(id, queue);
    return queue;
  }

  onBatchEnded(queue: DestinationQueue): void {
    if (queue.batches.count === 0) this.shares.active--;
    this.refill(queue);
  }

  onBatchSent(queue: DestinationQueue): void {
    this.refill(queue);
  }

  /** Promotes put-back jobs of all destinations. Destinations that got some come last the next time. */
  private refillAll(): void {
    this.running.tick();
    this.sweep();
    this.makeRoom();
    let promoted = 0;
    const served: DestinationQueue[] = [];
    const waiting = [...this.queues.values()].filter(({ putBack }) => !putBack.isEmpty);
    this.waiting = waiting.length;
    for (const queue of waiting) {
      queue.putBack.forgetLate(Date.now());
      const count = this.refill(queue, this.shares.promotableFor(queue) - promoted);
      promoted += count;
      if (count > 0) served.push(queue);
    }
    for (const queue of served) {
      const { id } = queue.destination;
      this.queues.delete(id);
      this.queues.set(id, queue);
    }
  }

  /**
   * Gives back the unsent messages of slow destinations if these have more places than they may: a process that has
   * just started does not know yet which destinations are slow.
   */
  private makeRoom(): void {
    if (!this.shares.isInLastPlaces) return;
    const now = performance.now();
    const slow = [...this.queues.values()].filter(({ window }) => window.isSlow || window.isSilent(now));
    const batches = slow.reduce((sum, { batches: { count } }) => sum + count, 0);
    if (!this.shares.isTooManyOfSlow(batches)) return;
    for (const queue of slow) queue.giveBack(putBackDelay(queue, this.waiting + slow.length));
  }

  /** Promotes up to `most` put-back jobs if a destination has nearly sent what is in hand. Returns how many. */
  private refill(queue: DestinationQueue, most = Infinity): number {
    if (this.isStopped || queue.putBack.messages === 0) return 0;
    const wanted = leastFor(queue) - queue.batches.unsent;
    const room = Math.min(this.shares.roomFor(queue), most);
    if (room <= 0 || wanted <= 0) return 0;
    const now = Date.now();
    const isHeldBack = (urls: readonly string[]): boolean => queue.destination.heldBack(now, urls) > 0;
    const keys = queue.putBack.promote(wanted, room, now, isHeldBack);
    for (const key of keys) {
      this.options.promote(key).then(
        () => {
          queue.putBack.promoted(key, Date.now());
        },
        // The job may have returned by itself, or another process may have it.
        () => {
          queue.putBack.delete(key);
        },
      );
    }
    return keys.length;
  }

  /** Forgets idle destinations, even while no new ones come: there may be thousands, each used now and then. */
  private sweep(): void {
    const now = performance.now();
    if (now - this.sweptAt < FORGET_AFTER) return;
    this.sweptAt = now;
    for (const [id, queue] of this.queues) {
      if (queue.idleFor(now) < FORGET_AFTER) continue;
      if (queue.window.isSlow) this.slow.remember(id);
      this.queues.delete(id);
      this.capacities.leave(queue);
    }
    this.capacities.sweep();
  }
}
