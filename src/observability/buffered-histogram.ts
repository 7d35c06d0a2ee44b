import type { Attributes, Histogram } from '@opentelemetry/api';

/** Maximum number of values in memory, over all attribute sets. The SDK takes half a millisecond to record them. */
const MAX_VALUES = 256;

interface Values {
  readonly attributes: Attributes;
  readonly values: number[];
}

/**
 * Keeps values in memory, and hands many over at a time. An SDK takes several times as long to record a single value
 * between two requests: by then, its code is no longer in the processor's caches.
 */
export class BufferedHistogram {
  private readonly sets = new Map<string, Values>();
  private size = 0;
  private isClosed = false;

  /** @param onThrow called with what the application's views throw */
  constructor(
    private readonly histogram: Histogram,
    private readonly onThrow: (error: unknown) => void,
  ) {}

  /**
   * @param key identifies the set of attributes
   * @param attributesOf returns the attributes of the key; called when the key is new
   */
  record(value: number, key: string, attributesOf: (key: string) => Attributes): void {
    const set = this.sets.get(key);
    if (set === undefined) this.sets.set(key, { attributes: attributesOf(key), values: [value] });
    else set.values.push(value);
    if (++this.size >= MAX_VALUES || this.isClosed) this.flush();
  }

  flush(): void {
    for (const { attributes, values } of this.sets.values())
      for (const value of values) this.tell(value, attributes);
    this.sets.clear();
    this.size = 0;
  }

  /** Keeps nothing in memory from now on, since the SDK may not collect through this module any more. */
  close(): void {
    this.isClosed = true;
    this.flush();
  }

  private tell(value: number, attributes: Attributes): void {
    try {
      this.histogram.record(value, attributes);
    } catch (error) {
      this.onThrow(error);
    }
  }
}
