/** A look-up that may begin when its turn comes. */
export class LookupTurn {
  hasBegun = false;
  /** Whether the look-up is slow, and runs beside the others. */
  isAside = false;
  private resolve: () => void = () => undefined;
  /** Resolves when the look-up may begin. */
  readonly begun = new Promise<void>((resolve) => {
    this.resolve = resolve;
  });

  begin(): void {
    this.hasBegun = true;
    this.resolve();
  }
}

/**
 * Limits how many look-ups run at once. Askers take turns, so that none waits for all look-ups of another. A look-up
 * with several askers has the first turn of any of them. Slow look-ups leave their turns to others.
 */
export class LookupTurns {
  /** Look-ups that have not begun, by asker. The next asker is the first. */
  private readonly lines = new Map<string, Set<LookupTurn>>();
  /** Slow look-ups that still have their turn, since no more may run beside the others. */
  private readonly overdue = new Set<LookupTurn>();

  /**
   * @param free how many look-ups may run at once
   * @param freeAside how many slow look-ups may run beside these
   */
  constructor(
    private free: number,
    private freeAside: number,
  ) {}

  /** Returns a turn, which begins at once if there is room. Call `end` when the look-up has ended. */
  take(askers: Iterable<string>): LookupTurn {
    const turn = new LookupTurn();
    if (this.free > 0) {
      this.free--;
      turn.begin();
    } else for (const asker of askers) this.join(turn, asker);
    return turn;
  }

  /** Adds an asker to a look-up that has not begun. */
  join(turn: LookupTurn, asker: string): void {
    if (turn.hasBegun) return;
    const line = this.lines.get(asker);
    if (line === undefined) this.lines.set(asker, new Set([turn]));
    else line.add(turn);
  }

  /** Lets a slow look-up run beside the others as soon as there is room, so that its turn is free. */
  setAside(turn: LookupTurn): void {
    if (this.freeAside === 0) {
      this.overdue.add(turn);
      return;
    }
    this.freeAside--;
    turn.isAside = true;
    this.beginNext();
  }

  /** Gives the place of a look-up that has ended to another. */
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

  /** Gives a turn to the next look-up, if there is one. */
  private beginNext(): void {
    for (const [asker, line] of this.lines) {
      // All other askers come first before it is this asker's turn again.
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

/** Takes the next look-up out of a line. Some may have begun in the turn of another asker. */
function nextIn(line: Set<LookupTurn>): LookupTurn | undefined {
  for (const turn of line) {
    line.delete(turn);
    if (!turn.hasBegun) return turn;
  }
  return undefined;
}
