import type { RedisCommands } from '../../../queue/queue-backend.js';
import { type HistoryStore, oldestOrdinal, type StoredEntry, type StoredHistory } from '../history-store.js';
import { oldestHour, parseCounts } from '../hour-counts.js';
import * as scripts from './redis-history-scripts.js';

/** Stores the history on the queue's Redis. */
export class RedisHistoryStore implements HistoryStore {
  constructor(private readonly client: RedisCommands) {}

  async write(histories: readonly StoredHistory[], now: number): Promise<void> {
    const keys = histories.flatMap(({ destination }) => scripts.keysOf(destination));
    const texts = histories.map(({ entries, hours }) =>
      JSON.stringify({
        entries: entries.map((entry) => ({ ...entry, ordinal: String(entry.ordinal) })),
        hours: hours.map(([hour, counts]) => [String(hour), counts]),
      }),
    );
    await scripts.WRITE.run(this.client, keys, [oldestOrdinal(now), oldestHour(now), ...texts]);
  }

  async recent(destination: string, limit: number, now: number): Promise<StoredEntry[]> {
    const keys = scripts.keysOf(destination);
    const found = textsIn(await scripts.RECENT.run(this.client, keys, [oldestOrdinal(now), limit]));
    return inGroups(found, 3).map(([messageId = '', ordinal, text = '']) => {
      const [head = '', ...attempts] = text.split('\n');
      return { messageId, ordinal: Number(ordinal), head, attempts };
    });
  }

  async hours(destination: string, first: number, last: number): Promise<StoredHistory['hours']> {
    const found = textsIn(await scripts.HOURS.run(this.client, scripts.keysOf(destination), []));
    return inGroups(found, 2)
      .map(([hour, counts = '{}']): StoredHistory['hours'][number] => [Number(hour), parseCounts(counts)])
      .filter(([hour]) => hour >= first && hour <= last);
  }

  async forget(destination: string): Promise<void> {
    await scripts.FORGET.run(this.client, scripts.keysOf(destination), []);
  }
}

function textsIn(answer: unknown): string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}

function inGroups(texts: readonly string[], size: number): string[][] {
  const groups: string[][] = [];
  for (let start = 0; start < texts.length; start += size) groups.push(texts.slice(start, start + size));
  return groups;
}
