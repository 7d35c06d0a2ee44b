import type { Destination } from '../destinations/destination.js';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import { DestinationNotFoundError, OtherApplicationError } from '../errors/delivery.errors.js';
import { DestinationDisabledError, InvalidDestinationError } from '../errors/destination.errors.js';
import type { QueuedBatch } from '../queue/batch-job.js';
import type { BatchQueue } from '../queue/batch-queue.js';
import { SpreadLooks } from '../shared/spread-looks.js';
import type { BatchEnd } from './batch-end.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import type { JobSizes, SizedJob } from './job-sizes.js';

export interface BatchDestinationsParts {
  destinations: DestinationRegistry;
  reporter: Pick<DeliveryReporter, 'notLookedUp'>;
  queue: Pick<BatchQueue, 'isOwn'>;
  /** Jobs that wait for a look-up. The application's store may be slow. */
  lookedUpFor: JobSizes;
  /** Most of these jobs, and most characters of them together. */
  maxLookedUpFor: { jobs: number; size: number };
}

/** The result of a look-up; `undefined` if this process has no such destination. */
type FoundDestination =
  Destination | InvalidDestinationError | 'deleted' | 'unavailable' | 'later' | undefined;

/** Shortest time until a failed look-up is repeated, in milliseconds. */
const LOOK_AGAIN_AFTER = 5_000;
/** Longest time until a failed look-up is repeated, in milliseconds. */
const LONGEST_LOOK = 300_000;
/**
 * Milliseconds between two jobs that come back because too many others waited for look-ups: their own look-ups go on
 * meanwhile, mostly faster than this.
 */
const RETURN_INTERVAL = 5;

/** Finds the destinations of batches. Those made at run time are in a store, which may be the application's. */
export class BatchDestinations {
  /** Spreads the looks of jobs whose destinations cannot be looked up. Many may wait until somebody fixes that. */
  private readonly looks = new SpreadLooks({ shortest: LOOK_AGAIN_AFTER, longest: LONGEST_LOOK });
  /** Spreads the returns of jobs that could not wait for their look-ups. There may be very many. */
  private readonly returns = new SpreadLooks({
    shortest: LOOK_AGAIN_AFTER,
    longest: LONGEST_LOOK,
    interval: RETURN_INTERVAL,
  });

  constructor(private readonly parts: BatchDestinationsParts) {}

  /**
   * Returns the destination of a batch, or the end of a batch that is not to be tried. No promise if it is known.
   *
   * @param job the job that the batch is in
   */
  of(batch: QueuedBatch, job: SizedJob): Destination | BatchEnd | Promise<Destination | BatchEnd> {
    const known = this.parts.destinations.known(batch.destination);
    return known === undefined ? this.lookedUp(batch, job) : this.usable(batch, known);
  }

  private async lookedUp(batch: QueuedBatch, job: SizedJob): Promise<Destination | BatchEnd> {
    return this.usable(batch, await this.lookUp(batch.destination, job));
  }

  private usable(batch: QueuedBatch, found: FoundDestination): Destination | BatchEnd {
    const id = batch.destination;
    if (found === 'unavailable') {
      return { kind: 'postponed', batch, until: this.looks.next(id, Date.now()) };
    }
    if (found === 'later') return { kind: 'postponed', batch, until: this.returns.next(id, Date.now()) };
    if (found === 'deleted') return { kind: 'dropped', batch };
    if (found === undefined) {
      return { kind: 'notKnown', batch, error: DestinationNotFoundError.inJob(id) };
    }
    if (!this.parts.queue.isOwn(batch))
      return { kind: 'notKnown', batch, error: new OtherApplicationError(id) };
    if (found instanceof InvalidDestinationError) return { kind: 'refused', batch, error: found };
    if (found.isDisabled === true) {
      return { kind: 'refused', batch, error: new DestinationDisabledError(found.id) };
    }
    return found;
  }

  private async lookUp(id: string, job: SizedJob): Promise<FoundDestination> {
    const look = this.found(id);
    if (!this.mayWait(job)) return Promise.race([look, nextTurn()]);
    const { lookedUpFor } = this.parts;
    lookedUpFor.add(job);
    try {
      return await look;
    } finally {
      lookedUpFor.remove(job);
    }
  }

  /** Whether a job may wait for a look-up. Once it waits for one, others of its batches take no further place. */
  private mayWait(job: SizedJob): boolean {
    const { lookedUpFor, maxLookedUpFor } = this.parts;
    const { jobs, size } = maxLookedUpFor;
    return lookedUpFor.has(job) || (lookedUpFor.jobs < jobs && lookedUpFor.total <= size);
  }

  private async found(id: string): Promise<FoundDestination> {
    try {
      return await this.parts.destinations.lookUp(id);
    } catch (error) {
      // The next look-up would find the same until somebody corrects the destination.
      if (error instanceof InvalidDestinationError) return error;
      this.parts.reporter.notLookedUp(id, error);
      return 'unavailable';
    }
  }
}

/** Resolves in the event loop's next turn. By then, a remembered destination is found: its job need not go back. */
function nextTurn(): Promise<'later'> {
  return new Promise((resolve) => {
    setImmediate(resolve, 'later');
  });
}
