/** Work that is under way, and what it is about. */
export class RunningWork<T> {
  private readonly running = new Set<{ readonly subjects: readonly T[]; readonly end: Promise<unknown> }>();

  get size(): number {
    return this.running.size;
  }

  get subjects(): T[] {
    return Array.from(this.running, ({ subjects }) => subjects).flat();
  }

  async track<R>(subjects: readonly T[], end: Promise<R>): Promise<R> {
    const one = { subjects, end };
    this.running.add(one);
    try {
      return await end;
    } finally {
      this.running.delete(one);
    }
  }

  /** Resolves when all the work that is under way now has ended. */
  async end(): Promise<void> {
    await Promise.allSettled(Array.from(this.running, ({ end }) => end));
  }
}
