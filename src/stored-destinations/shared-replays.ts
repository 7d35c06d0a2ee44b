interface Replay {
  readonly ids: Set<string>;
  readonly done: Promise<void>;
}

/**
 * Delivers what was kept for destinations that are enabled. That reads the ids of everything that has failed, so only one
 * replay runs at a time, and the next one is for all who have asked meanwhile.
 */
export class SharedReplays {
  /** Never rejects. */
  private last: Promise<void> = Promise.resolve();
  /** Has not begun. */
  private next: Replay | undefined;

  /** @param replay delivers what was kept for the destinations with these ids */
  constructor(private readonly replay: (ids: ReadonlySet<string>) => Promise<void>) {}

  /** Resolves when what was kept for a destination until now is delivered. */
  of(id: string): Promise<void> {
    this.next ??= this.after(this.last);
    this.next.ids.add(id);
    return this.next.done;
  }

  private after(last: Promise<void>): Replay {
    const ids = new Set<string>();
    const done = last.then(() => {
      this.next = undefined;
      return this.replay(ids);
    });
    this.last = done.catch(() => undefined);
    return { ids, done };
  }
}
