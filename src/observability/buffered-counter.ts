import type { Attributes, Counter } from '@opentelemetry/api';

/** Sets of attributes that are counted in memory. There may be one for each tenant. */
const MAX_COUNTS = 1_000;

interface Count {
  readonly attributes: Attributes;
  value: number;
}

/**
 * Counts in memory, and hands the counts over when the SDK collects. Adding to a counter of the SDK takes a
 * microsecond, since it compares all attributes each time.
 */
export class BufferedCounter {
  private readonly counts = new Map<string, Count>();
  private isClosed = false;

  /** @param onThrow told what the application's views throw */
  constructor(
    private readonly counter: Counter,
    private readonly onThrow: (error: unknown) => void,
  ) {}

  /**
   * @param key tells sets of attributes apart
   * @param attributesOf those of the key, called when it is new
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

  /** The SDK may not collect through this module any more, so from now on nothing stays in memory. */
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
