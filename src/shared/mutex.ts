/** Lets one caller in at a time, in the order in which they asked. */
export class Mutex {
  private last: Promise<void> = Promise.resolve();

  /** Resolves to the function that ends the turn, when it is the caller's turn. */
  async acquire(): Promise<() => void> {
    const previous = this.last;
    let endTurn = (): void => undefined;
    this.last = new Promise((resolve) => {
      endTurn = resolve;
    });
    await previous;
    return endTurn;
  }

  /** Runs a task in a turn of its own. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const endTurn = await this.acquire();
    try {
      return await task();
    } finally {
      endTurn();
    }
  }
}
