import type { Destination } from '../destinations/destination.js';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import { DestinationNotFoundError, OtherApplicationError } from '../errors/delivery.errors.js';
import { DestinationDisabledError, InvalidDestinationError } from '../errors/destination.errors.js';
import type { QueuedBatch } from '../queue/batch-job.js';
import type { BatchQueue } from '../queue/batch-queue.js';
import { SpreadLooks } from '../shared/spread-looks.js';
import type { BatchEnd } from './batch-end.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import { JobSizes, type SizedJob } from './job-sizes.js';

export interface BatchDestinationsParts {
  destinations: DestinationRegistry;
  reporter: Pick<DeliveryReporter, 'notLookedUp'>;
  queue: Pick<BatchQueue, 'isOwn'>;
  /** Most characters of the jobs that wait for look-ups. */
  maxLookedUpFor: number;
}

/** The result of a look-up; `undefined` if this process has no such destination. */
type FoundDestination =
  Destination | InvalidDestinationError | 'deleted' | 'unavailable' | 'later' | undefined;

/** Shortest time until a failed look-up is repeated, in milliseconds. */
const LOOK_AGAIN_AFTER = 5_000;
/** Longest time until a failed look-up is repeated, in milliseconds. */
const LONGEST_LOOK = 300_000;

/** Finds the destinations of batches. Those made at run time are in a store, which may be the application's. */
export class BatchDestinations {
  /** Spreads the looks of jobs whose destinations cannot be looked up. Many may wait until somebody fixes that. */
  private readonly looks = new SpreadLooks({ shortest: LOOK_AGAIN_AFTER, longest: LONGEST_LOOK });
  /** Jobs that wait for a look-up. The application's store may be slow. */
  private readonly lookedUpFor = new JobSizes();

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
    if (found === 'later') return { kind: 'postponed', batch, until: Date.now() + LOOK_AGAIN_AFTER };
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
    if (this.lookedUpFor.total > this.parts.maxLookedUpFor) return Promise.race([look, nextTurn()]);
    this.lookedUpFor.add(job);
    try {
      return await look;
    } finally {
      this.lookedUpFor.remove(job);
    }
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
