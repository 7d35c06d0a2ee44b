import { types } from 'node:util';
import type { QueuedBatch } from '../queue/batch-job.js';
import type { KeptMessage } from './failed-filter.js';

/** Destinations that a replay has left out, by id, each with the error that its look-up failed with. */
export type SkippedDestinations = ReadonlyMap<string, Error>;

/** Decides which messages that were kept for disabled destinations are delivered again. */
export interface KeptSelection {
  /** The only destinations to which messages are delivered. */
  readonly ids: ReadonlySet<string>;
  /** Ends the replay, which then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Whether a destination is to be looked up, for a batch. */
  mayTake(destination: string): boolean;
  /** Whether a batch is delivered. Called only if its destination takes messages now. */
  takes(destination: string, messages: number): boolean;
}

/** Decides which messages are delivered again. A destination that cannot be looked up does not affect the others. */
export class Replay {
  private readonly left = new Map<string, Error>();

  /**
   * @param isMatching whether a message is selected
   * @param isTaken whether the selected messages of a batch are delivered again. Rejects if its destination cannot be
   *   looked up
   */
  constructor(
    private readonly isMatching: (message: KeptMessage) => boolean,
    private readonly isTaken: (batch: QueuedBatch) => Promise<boolean>,
  ) {}

  get skipped(): SkippedDestinations {
    return this.left;
  }

  /**
   * Whether a message is selected and its destination is not skipped. Looking up a skipped destination again for each
   * of its jobs could take seconds each time, while all others wait.
   */
  readonly matches = (message: KeptMessage): boolean =>
    !this.left.has(message.destination) && this.isMatching(message);

  async takes(batch: QueuedBatch): Promise<boolean> {
    try {
      return await this.isTaken(batch);
    } catch (error) {
      const reason = types.isNativeError(error)
        ? error
        : new Error('The store threw something that is not an Error');
      this.left.set(batch.destination, reason);
      return false;
    }
  }
}
