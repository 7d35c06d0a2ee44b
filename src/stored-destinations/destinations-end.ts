import type { KeptMessages } from './kept-messages.js';

/** Ends what the destinations at run time have running. */
export class DestinationsEnd {
  constructor(
    private readonly kept: Pick<KeptMessages, 'finish' | 'close'>,
    private readonly parts: readonly { close(): void }[],
    private readonly events: { complete(): void },
  ) {}

  /** Resolves when all that was kept for enabled destinations is delivered, or after this many milliseconds. */
  finish(patience: number): Promise<void> {
    return this.kept.finish(patience);
  }

  /** Nothing is looked up or replayed any more. */
  close(): void {
    for (const part of [this.kept, ...this.parts]) part.close();
    this.events.complete();
  }
}
