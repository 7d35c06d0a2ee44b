import type { Attributes, Counter } from '@opentelemetry/api';

/** Maximum number of attribute sets that are counted in memory. There may be a set for each tenant. */
const MAX_COUNTS = 1_000;

interface Count {
  readonly attributes: Attributes;
  value: number;
}

/**
 * Counts in memory, and hands the counts over when the SDK collects. Adding to a counter of the SDK takes a
 * microsecond, since the SDK compares all attributes each time.
 */
export class BufferedCounter {
  private readonly counts = new Map<string, Count>();
  private isClosed = false;

  /** @param onThrow called with what the application's views throw */
  constructor(
    private readonly counter: Counter,
    private readonly onThrow: (error: unknown) => void,
  ) {}

  /**
   * @param key identifies the set of attributes
   * @param attributesOf returns the attributes of the key; called when the key is new
   */
  add(value: number, key: string, attributesOf: (key: string) => Attributes): void {
    const count = this.counts.get(key);
    if (count !== undefined) count.value += value;
    else if (this.isClosed) this.tell({ value, attributes: attributesOf(key) });
    else {
      if (this.counts.size >= MAX_COUNTS) this.flush();
      this.counts.set(key, { attributes: attributesOf(key), value });
    }
  }

  flush(): void {
    for (const count of this.counts.values()) this.tell(count);
    this.counts.clear();
  }

  /** Keeps nothing in memory from now on, since the SDK may not collect through this module any more. */
  close(): void {
    this.isClosed = true;
    this.flush();
  }

  private tell({ value, attributes }: Count): void {
    try {
      this.counter.add(value, attributes);
    } catch (error) {
      this.onThrow(error);
    }
  }
}
