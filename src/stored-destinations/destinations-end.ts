import { within } from '../shared/within.js';
import type { HistoryRemoval } from './history-removal.js';
import type { KeptMessages } from './kept-messages.js';

/** How long the end waits for the history of deleted destinations, in milliseconds: what is left of it expires by itself. */
const HISTORY_PATIENCE = 1_000;

/** Ends what the destinations at run time have running. */
export class DestinationsEnd {
  constructor(
    private readonly kept: Pick<KeptMessages, 'finish' | 'close'>,
    private readonly histories: Pick<HistoryRemoval, 'finish' | 'close'>,
    private readonly parts: readonly { close(): void }[],
    private readonly events: { complete(): void },
  ) {}

  /**
   * Resolves when all that was kept for enabled destinations is delivered, or after this many milliseconds, and when the
   * history of deleted ones is removed, unless that takes long.
   */
  async finish(patience: number): Promise<void> {
    const removed = within(Math.min(patience, HISTORY_PATIENCE), this.histories.finish());
    await Promise.all([this.kept.finish(patience), removed]);
  }

  /** Nothing is looked up or replayed any more. */
  close(): void {
    for (const part of [this.kept, this.histories, ...this.parts]) part.close();
    this.events.complete();
  }
}
