/** A look-up that may begin when its turn comes. */
export class LookupTurn {
  hasBegun = false;
  /** It takes long, and goes on beside the others. */
  isAside = false;
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
 * for. A look-up that several ask for has the first turn of any of them. Those that take long leave their turns to others.
 */
export class LookupTurns {
  /** What has not begun, by who asks, the next one first. */
  private readonly lines = new Map<string, Set<LookupTurn>>();
  /** What takes long and still has its turn, since no more may go on beside the others. */
  private readonly overdue = new Set<LookupTurn>();

  /**
   * @param free how many may run at once
   * @param freeAside how many more if they take long
   */
  constructor(
    private free: number,
    private freeAside: number,
  ) {}

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

  /** A look-up takes long. */
  setAside(turn: LookupTurn): void {
    if (this.freeAside === 0) {
      this.overdue.add(turn);
      return;
    }
    this.freeAside--;
    turn.isAside = true;
    this.beginNext();
  }

  /** A look-up has ended. */
  end(turn: LookupTurn): void {
    if (!turn.isAside) {
      this.overdue.delete(turn);
      this.beginNext();
      return;
    }
    this.freeAside++;
    const [overdue] = this.overdue;
    if (overdue === undefined) return;
    this.overdue.delete(overdue);
    this.setAside(overdue);
  }

  /** Gives a turn to the next one, if there is one. */
  private beginNext(): void {
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
