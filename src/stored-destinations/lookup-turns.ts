/** A look-up that may begin when its turn comes. */
export class LookupTurn {
  hasBegun = false;
  private resolve: () => void = () => undefined;
  /** Resolves when it may begin. */
  readonly begun = new Promise<void>((resolve) => {
    this.resolve = resolve;
  });

  begin(): void {
    this.hasBegun = true;
    this.resolve();
  }
}

/**
 * Limits how many look-ups run at once. Those who ask take turns, so that nobody waits for all that another has asked
 * for. A look-up that several ask for has the first turn of any of them.
 */
export class LookupTurns {
  /** What has not begun, by who asks, the next one first. */
  private readonly lines = new Map<string, Set<LookupTurn>>();

  /** @param free how many may run at once */
  constructor(private free: number) {}

  /** Begins at once if there is room. Call `end` when it has ended. */
  take(askers: Iterable<string>): LookupTurn {
    const turn = new LookupTurn();
    if (this.free > 0) {
      this.free--;
      turn.begin();
    } else for (const asker of askers) this.join(turn, asker);
    return turn;
  }

  /** Another asks for the same look-up. */
  join(turn: LookupTurn, asker: string): void {
    if (turn.hasBegun) return;
    const line = this.lines.get(asker);
    if (line === undefined) this.lines.set(asker, new Set([turn]));
    else line.add(turn);
  }

  /** A look-up has ended. */
  end(): void {
    for (const [asker, line] of this.lines) {
      // All others are asked first before it is this one's turn again.
      this.lines.delete(asker);
      const next = nextIn(line);
      if (next === undefined) continue;
      if (line.size > 0) this.lines.set(asker, line);
      next.begin();
      return;
    }
    this.free++;
  }
}

/** Takes the next one out of a line. Some may have begun in the turn of another asker. */
function nextIn(line: Set<LookupTurn>): LookupTurn | undefined {
  for (const turn of line) {
    line.delete(turn);
    if (!turn.hasBegun) return turn;
  }
  return undefined;
}
