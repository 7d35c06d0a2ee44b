/** Look-ups on their way at once: they share the queue's connections with the queue. */
const MAX_RUNNING = 8;

interface Lookup<V> {
  readonly result: Promise<V>;
  /** The answer on its way may be older than a change. */
  isOutdated: boolean;
}

/**
 * Remembers what was looked up, until it is forgotten or has to make room for keys that were asked for later.
 * Callers that ask at the same time share one look-up.
 */
export class LookupCache<V> {
  private recent = new Map<string, V>();
  private older = new Map<string, V>();
  private readonly running = new Map<string, Lookup<V>>();
  private readonly waiting: (() => void)[] = [];
  private free = MAX_RUNNING;

  /** @param size entries are dropped beyond this number, and never before half of it */
  constructor(
    private readonly look: (key: string) => Promise<V>,
    private readonly size: number,
  ) {}

  get(key: string): V | undefined {
    const value = this.recent.get(key);
    if (value !== undefined) return value;
    const older = this.older.get(key);
    if (older !== undefined) this.keep(key, older);
    return older;
  }

  /** Looks a key up, or joins a look-up of it that is running. Rejects as that does. */
  load(key: string): Promise<V> {
    const running = this.running.get(key);
    if (running !== undefined) return running.result;
    const result = this.run(key).finally(() => this.running.delete(key));
    this.running.set(key, { result, isOutdated: false });
    return result;
  }

  /** What is known of a key may be wrong from now on. */
  forget(key: string): void {
    this.recent.delete(key);
    this.older.delete(key);
    const running = this.running.get(key);
    if (running !== undefined) running.isOutdated = true;
  }

  clear(): void {
    this.recent.clear();
    this.older.clear();
    for (const lookup of this.running.values()) lookup.isOutdated = true;
  }

  private async run(key: string): Promise<V> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      for (;;) {
        const value = await this.look(key);
        const lookup = this.running.get(key);
        if (lookup?.isOutdated !== true) {
          this.keep(key, value);
          return value;
        }
        lookup.isOutdated = false;
      }
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free++;
      else next();
    }
  }

  private keep(key: string, value: V): void {
    if (this.recent.size >= this.size / 2) {
      this.older = this.recent;
      this.recent = new Map();
    }
    this.recent.set(key, value);
  }
}
