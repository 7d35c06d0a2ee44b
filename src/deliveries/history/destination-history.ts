import { mergedEntry, type RecordedMessages } from './history-entry.js';
import {
  ALL_DESTINATIONS,
  KEPT_ENTRIES,
  oldestOrdinal,
  type StoredHistory,
  type WrittenEntry,
} from './history-store.js';
import { HourCounts, oldestHour } from './hour-counts.js';

/** What happened at one destination and is not written yet. Holds hardly more than the store would keep. */
export class DestinationHistory {
  /** Entries that are already made, one for each message, the latest last. */
  private entries: WrittenEntry[] = [];
  /** Messages that were recorded after those entries, the latest last. Their entries are made later. */
  private recorded: { messages: RecordedMessages; firstOrdinal: number }[] = [];
  /** Number of messages in `recorded`. */
  private recordedSize = 0;
  /** Whether none of the recorded messages was recorded before, so that each has one entry. */
  private isFirst = true;
  private readonly hours = new Map<number, HourCounts>();
  private discarded = false;

  /**
   * @param owner name under which destinations share room: the same for all destinations of a tenant
   * @param group group that the history is written with
   */
  constructor(
    readonly destination: string,
    readonly owner: string,
    readonly group = 0,
  ) {}

  /** Number of entries. */
  get size(): number {
    return this.sizeWith(0);
  }

  /** Number of hours with counts. */
  get hourCount(): number {
    return this.hours.size;
  }

  /** Returns how many entries there would be with this many more messages. */
  sizeWith(messages: number): number {
    return Math.min(this.entries.length + this.recordedSize + messages, KEPT_ENTRIES);
  }

  /** Characters of the message bodies that are held. */
  get bodySize(): number {
    return this.recorded.reduce((sum, { messages }) => sum + messages.bodySize, 0);
  }

  /** Whether no message bodies are held. */
  get isSummarized(): boolean {
    return this.recorded.length === 0;
  }

  /** Whether nothing is written except the destination's part in the counts of all destinations. */
  get isDiscarded(): boolean {
    return this.discarded;
  }

  hasCountsOf(hour: number): boolean {
    return this.hours.has(hour);
  }

  countsOf(hour: number): HourCounts {
    let counts = this.hours.get(hour);
    if (counts === undefined) this.hours.set(hour, (counts = new HourCounts()));
    return counts;
  }

  /** @param firstOrdinal ordinal of the first message; the others have the following ordinals */
  add(messages: RecordedMessages, firstOrdinal: number): void {
    if (this.discarded) return;
    this.recorded.push({ messages, firstOrdinal });
    this.recordedSize += messages.size;
    this.isFirst &&= messages.isFirst;
    if (this.recordedSize < 2 * KEPT_ENTRIES) return;
    if (this.isFirst) this.dropReplaced();
    else this.summarize();
  }

  /** Adds what happened later. */
  absorb(later: DestinationHistory): void {
    if (later.discarded) this.discarded = true;
    this.keep(this.discarded ? [] : [...this.summarize(), ...later.summarize()]);
    for (const [hour, counts] of later.hours) this.countsOf(hour).add(counts);
  }

  /**
   * Drops what the store would not keep any more.
   *
   * @param now milliseconds since the epoch
   */
  forgetOld(now: number): void {
    const oldest = oldestHour(now);
    const old = [...this.hours.keys()].filter((hour) => hour < oldest);
    if (old.length === 0) return;
    for (const hour of old) this.hours.delete(hour);
    this.keep(this.summarize().filter(({ ordinal }) => ordinal >= oldestOrdinal(now)));
  }

  /** Drops the present and future entries, but not the counts, which are part of those of all destinations. */
  discard(): void {
    this.discarded = true;
    this.keep([]);
  }

  /** Makes the entries of the recorded messages, and releases their bodies. */
  summarize(): readonly WrittenEntry[] {
    if (this.recorded.length > 0) {
      const entries = this.recorded.map(({ messages, firstOrdinal }) => messages.entries(firstOrdinal));
      this.keep([...this.entries, ...entries.flat()]);
    }
    return this.entries;
  }

  get stored(): StoredHistory {
    const { destination } = this;
    return {
      destination,
      entries: this.summarize(),
      hours: Array.from(this.hours, ([hour, { stored }]) => [hour, stored]),
    };
  }

  /** Returns the counts of several destinations together. */
  static totalOf(histories: readonly DestinationHistory[]): StoredHistory {
    const total = new DestinationHistory(ALL_DESTINATIONS, ALL_DESTINATIONS);
    for (const { hours } of histories) {
      for (const [hour, counts] of hours) total.countsOf(hour).add(counts);
    }
    return total.stored;
  }

  /** Keeps the latest of these entries, one for each message, and nothing else. */
  private keep(entries: readonly WrittenEntry[]): void {
    const latest = new Map<string, WrittenEntry>();
    for (const entry of entries) {
      const { messageId } = entry;
      const earlier = latest.get(messageId);
      if (earlier === undefined) latest.set(messageId, entry);
      else {
        latest.delete(messageId);
        latest.set(messageId, mergedEntry(earlier, entry));
      }
    }
    this.entries = [...latest.values()].slice(-KEPT_ENTRIES);
    this.recorded = [];
    this.recordedSize = 0;
    this.isFirst = true;
  }

  /** Drops recorded messages that later messages would displace. */
  private dropReplaced(): void {
    let first = this.recorded[0];
    while (first !== undefined && this.recordedSize - first.messages.size >= KEPT_ENTRIES) {
      this.recordedSize -= first.messages.size;
      this.recorded.shift();
      first = this.recorded[0];
    }
  }
}
