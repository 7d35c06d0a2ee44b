import type { RedisCommands } from '../../../queue/queue-backend.js';
import { partitionOf } from '../../../queue/partitions.js';
import {
  ALL_DESTINATIONS,
  type HistoryStore,
  oldestOrdinal,
  type StoredEntry,
  type StoredHistory,
} from '../history-store.js';
import { HourCounts, oldestHour, parseCounts } from '../hour-counts.js';
import * as scripts from './redis-history-scripts.js';

/**
 * Stores the history on the queue's Redis. On a cluster, destinations are in groups, and a write is of one group:
 * its script finds all keys on one node.
 */
export class RedisHistoryStore implements HistoryStore {
  readonly groupOf: ((destination: string) => number) | undefined;

  constructor(private readonly client: RedisCommands) {
    if (client.isCluster === true)
      this.groupOf = (destination) => partitionOf(destination, scripts.CLUSTER_GROUPS);
  }

  async write(histories: readonly StoredHistory[], now: number): Promise<void> {
    const [first] = histories;
    const group = first && this.groupOf?.(first.destination);
    const keys = histories.flatMap(({ destination }) => scripts.keysOf(destination, group));
    const texts = histories.map(({ entries, hours }) =>
      JSON.stringify({
        entries: entries.map((entry) => ({ ...entry, ordinal: String(entry.ordinal) })),
        hours: hours.map(([hour, counts]) => [String(hour), counts]),
      }),
    );
    await scripts.WRITE.run(this.client, keys, [oldestOrdinal(now), oldestHour(now), ...texts]);
  }

  async recent(destination: string, limit: number, now: number): Promise<StoredEntry[]> {
    const keys = scripts.keysOf(destination, this.groupOf?.(destination));
    const found = textsIn(await scripts.RECENT.run(this.client, keys, [oldestOrdinal(now), limit]));
    return inGroups(found, 3).map(([messageId = '', ordinal, text = '']) => {
      const [head = '', ...attempts] = text.split('\n');
      return { messageId, ordinal: Number(ordinal), head, attempts };
    });
  }

  async hours(destination: string, first: number, last: number): Promise<StoredHistory['hours']> {
    const all = Array.from({ length: scripts.CLUSTER_GROUPS }, (_, group) => group);
    const group = this.groupOf?.(destination);
    const groups = group !== undefined && destination === ALL_DESTINATIONS ? all : [group];
    const found = await Promise.all(groups.map((one) => this.hoursIn(destination, one)));
    return sumOf(found.flat()).filter(([hour]) => hour >= first && hour <= last);
  }

  private async hoursIn(destination: string, group: number | undefined): Promise<StoredHistory['hours']> {
    const keys = scripts.keysOf(destination, group);
    return inGroups(textsIn(await scripts.HOURS.run(this.client, keys, [])), 2).map(
      ([hour, counts = '{}']) => [Number(hour), parseCounts(counts)],
    );
  }

  async forget(destination: string): Promise<void> {
    await scripts.FORGET.run(this.client, scripts.keysOf(destination, this.groupOf?.(destination)), []);
  }
}

/** The counts of each hour over all groups. */
function sumOf(hours: StoredHistory['hours']): StoredHistory['hours'] {
  const sums = new Map<number, HourCounts>();
  for (const [hour, counts] of hours) {
    const sum = sums.get(hour);
    if (sum === undefined) sums.set(hour, HourCounts.of(counts));
    else sum.add(HourCounts.of(counts));
  }
  return Array.from(sums, ([hour, { stored }]) => [hour, stored]);
}

function textsIn(answer: unknown): string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}

function inGroups(texts: readonly string[], size: number): string[][] {
  const groups: string[][] = [];
  for (let start = 0; start < texts.length; start += size) groups.push(texts.slice(start, start + size));
  return groups;
}
