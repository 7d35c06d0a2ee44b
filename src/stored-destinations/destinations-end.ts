import { within } from '../shared/within.js';
import type { HistoryRemoval } from './history-removal.js';
import type { KeptMessages } from './kept-messages.js';

/** Milliseconds to wait for the removal of deleted destinations' history. History that is left expires by itself. */
const HISTORY_PATIENCE = 1_000;

/** Ends the running work of the destinations at run time. */
export class DestinationsEnd {
  constructor(
    private readonly kept: Pick<KeptMessages, 'finish' | 'close'>,
    private readonly histories: Pick<HistoryRemoval, 'finish' | 'close'>,
    private readonly parts: readonly { close(): void }[],
    private readonly events: { complete(): void },
  ) {}

  /**
   * Resolves when all messages that were kept for enabled destinations are delivered, or after this many milliseconds,
   * and when the history of deleted destinations is removed, unless that takes long.
   */
  async finish(patience: number): Promise<void> {
    const removed = within(Math.min(patience, HISTORY_PATIENCE), this.histories.finish());
    await Promise.all([this.kept.finish(patience), removed]);
  }

  /** Ends all look-ups and replays. */
  close(): void {
    for (const part of [this.kept, this.histories, ...this.parts]) part.close();
    this.events.complete();
  }
}
