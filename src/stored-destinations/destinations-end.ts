import { within } from '../shared/within.js';
import type { HistoryRemoval } from './history-removal.js';
import type { KeptMessages } from './kept-messages.js';

/** Ends what the destinations at run time have running. */
export class DestinationsEnd {
  constructor(
    private readonly kept: Pick<KeptMessages, 'finish' | 'close'>,
    private readonly histories: Pick<HistoryRemoval, 'finish' | 'close'>,
    private readonly parts: readonly { close(): void }[],
    private readonly events: { complete(): void },
  ) {}

  /**
   * Resolves when all that was kept for enabled destinations is delivered, and the history of deleted ones removed, or
   * after this many milliseconds.
   */
  async finish(patience: number): Promise<void> {
    await Promise.all([this.kept.finish(patience), within(patience, this.histories.finish())]);
  }

  /** Nothing is looked up or replayed any more. */
  close(): void {
    for (const part of [this.kept, this.histories, ...this.parts]) part.close();
    this.events.complete();
  }
}
