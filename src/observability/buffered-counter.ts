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

  constructor(private readonly counter: Counter) {}

  /**
   * @param key tells sets of attributes apart
   * @param attributesOf called when the key is new
   */
  add(value: number, key: string, attributesOf: () => Attributes): void {
    const count = this.counts.get(key);
    if (count !== undefined) count.value += value;
    else if (this.isClosed) this.counter.add(value, attributesOf());
    else {
      if (this.counts.size >= MAX_COUNTS) this.flush();
      this.counts.set(key, { attributes: attributesOf(), value });
    }
  }

  flush(): void {
    for (const { value, attributes } of this.counts.values()) this.counter.add(value, attributes);
    this.counts.clear();
  }

  /** The SDK may not collect through this module any more, so from now on nothing stays in memory. */
  close(): void {
    this.isClosed = true;
    this.flush();
  }
}
