/** Tells how many messages each destination still takes, beyond those already chosen for it. */
export class Rooms {
  private readonly left = new Map<string, number>();

  constructor(private readonly roomFor: (destination: string) => number) {}

  /** Whether any of the destinations has room. `null` stands for destinations that are not known yet. */
  isAt(destinations: readonly string[] | null): boolean {
    return destinations === null || destinations.some((destination) => this.at(destination) > 0);
  }

  /** Chooses a message for those of the destinations that have room. Returns whether any has. */
  take(destinations: readonly string[] | null): boolean {
    if (!this.isAt(destinations)) return false;
    for (const destination of destinations ?? []) {
      this.left.set(destination, Math.max(this.at(destination) - 1, 0));
    }
    return true;
  }

  private at(destination: string): number {
    let left = this.left.get(destination);
    if (left === undefined) this.left.set(destination, (left = this.roomFor(destination)));
    return left;
  }
}
