/** Ends what the destinations at run time have running. */
export class DestinationsEnd {
  constructor(
    private readonly parts: readonly { close(): void }[],
    private readonly events: { complete(): void },
  ) {}

  /** Nothing is looked up or replayed any more. */
  close(): void {
    for (const part of this.parts) part.close();
    this.events.complete();
  }
}
