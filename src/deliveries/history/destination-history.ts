import type { HistoryEntry } from './history-entry.js';
import { ALL_DESTINATIONS, KEPT_ENTRIES, type StoredHistory } from './history-store.js';
import { HourCounts } from './hour-counts.js';

/** What happened at one destination and is not written yet: no more than what the store would keep of it. */
export class DestinationHistory {
  /** By messageId, the latest last. */
  private readonly entries = new Map<string, HistoryEntry>();
  private readonly hours = new Map<number, HourCounts>();

  constructor(readonly destination: string) {}

  /** How many entries it holds. */
  get size(): number {
    return this.entries.size;
  }

  countsOf(hour: number): HourCounts {
    let counts = this.hours.get(hour);
    if (counts === undefined) this.hours.set(hour, (counts = new HourCounts()));
    return counts;
  }

  add(entry: HistoryEntry): void {
    const { entries } = this;
    const { messageId } = entry;
    const known = entries.get(messageId);
    if (known === undefined) {
      entries.set(messageId, entry);
      if (entries.size > KEPT_ENTRIES) this.removeOldest();
      return;
    }
    entries.delete(messageId);
    known.follow(entry);
    entries.set(messageId, known);
  }

  /** Adds what happened later. */
  absorb(later: DestinationHistory): void {
    for (const entry of later.entries.values()) this.add(entry);
    for (const [hour, counts] of later.hours) this.countsOf(hour).add(counts);
  }

  /** Drops the bodies of messages. */
  summarize(): void {
    for (const entry of this.entries.values()) entry.summarize();
  }

  get stored(): StoredHistory {
    const { destination } = this;
    return {
      destination,
      entries: Array.from(this.entries.values(), ({ stored }) => stored),
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

  private removeOldest(): void {
    const [oldest] = this.entries.keys();
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}
