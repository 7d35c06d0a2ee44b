import type { HistoryEntry } from './history-entry.js';
import { ALL_DESTINATIONS, KEPT_ENTRIES, type StoredHistory } from './history-store.js';
import { HourCounts } from './hour-counts.js';

/** What happened at one destination and is not written yet: no more than what the store would keep of it. */
export class DestinationHistory {
  /** The latest last. Those of one message become one when there are many, or when they are read. */
  private entries: HistoryEntry[] = [];
  private readonly hours = new Map<number, HourCounts>();
  private discarded = false;

  constructor(readonly destination: string) {}

  /** How many entries it holds. */
  get size(): number {
    return Math.min(this.entries.length, KEPT_ENTRIES);
  }

  /** Whether nothing of it is to be written but its part in the counts of all destinations. */
  get isDiscarded(): boolean {
    return this.discarded;
  }

  countsOf(hour: number): HourCounts {
    let counts = this.hours.get(hour);
    if (counts === undefined) this.hours.set(hour, (counts = new HourCounts()));
    return counts;
  }

  add(entry: HistoryEntry): void {
    this.entries.push(entry);
    if (this.entries.length >= 2 * KEPT_ENTRIES) this.compact();
  }

  /** Adds what happened later. */
  absorb(later: DestinationHistory): void {
    for (const entry of later.compact()) this.add(entry);
    for (const [hour, counts] of later.hours) this.countsOf(hour).add(counts);
  }

  /** The destination was deleted: drops the entries, but not what counts among all destinations. */
  discard(): void {
    this.discarded = true;
    this.entries = [];
  }

  /** Drops the bodies of messages. */
  summarize(): void {
    for (const entry of this.compact()) entry.summarize();
  }

  get stored(): StoredHistory {
    const { destination } = this;
    return {
      destination,
      entries: this.compact().map(({ stored }) => stored),
      hours: Array.from(this.hours, ([hour, { stored }]) => [hour, stored]),
    };
  }

  /** The counts of several destinations together. */
  static totalOf(histories: readonly DestinationHistory[]): StoredHistory {
    const total = new DestinationHistory(ALL_DESTINATIONS);
    for (const { hours } of histories) {
      for (const [hour, counts] of hours) total.countsOf(hour).add(counts);
    }
    return total.stored;
  }

  /** Leaves what is kept: the latest entries, one for each message. */
  private compact(): readonly HistoryEntry[] {
    const latest = new Map<string, HistoryEntry>();
    for (const entry of this.entries) {
      const { messageId } = entry;
      const known = latest.get(messageId);
      if (known !== undefined) {
        latest.delete(messageId);
        known.follow(entry);
      }
      latest.set(messageId, known ?? entry);
    }
    this.entries = [...latest.values()].slice(-KEPT_ENTRIES);
    return this.entries;
  }
}
