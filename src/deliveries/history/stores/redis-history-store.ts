import { randomUUID } from 'node:crypto';
import type { RedisCommands } from '../../../queue/queue-backend.js';
import { partitionOf } from '../../../queue/partitions.js';
import {
  ALL_DESTINATIONS,
  type HistoryStore,
  oldestOrdinal,
  type PeriodLength,
  type StoredEntry,
  type StoredHistory,
  type StoredPeriods,
} from '../history-store.js';
import { HOUR, HourCounts, hourOf, KEPT_HOURS, parseCounts } from '../hour-counts.js';
import { KEPT_MINUTES, MINUTE, minuteOf } from '../minute-counts.js';
import { answerKey, CLUSTER_GROUPS, hoursKey, keysOf, minutesKey, waitingKey } from './redis-history-keys.js';
import * as scripts from './redis-history-scripts.js';
import { entryOf, textsOf } from './stored-texts.js';
import { entriesIn, latestOf, wholeEntriesOf } from './whole-entries.js';

/**
 * Stores the history on the queue's Redis. On a cluster, destinations are in groups, and each write is of one group, so
 * that its script finds all keys on one node.
 */
export class RedisHistoryStore implements HistoryStore {
  readonly groupOf: ((destination: string) => number) | undefined;
  private readonly process = randomUUID();

  constructor(private readonly client: RedisCommands) {
    if (client.isCluster === true) this.groupOf = (destination) => partitionOf(destination, CLUSTER_GROUPS);
  }

  async write(histories: readonly StoredHistory[], now: number, minutes: StoredPeriods = []): Promise<void> {
    const [first] = histories;
    const group = this.groupOf?.(first?.destination ?? ALL_DESTINATIONS);
    const keys = histories.flatMap(({ destination }) => keysOf(destination, group));
    const args = histories.flatMap(argumentsOf);
    await scripts.WRITE.run(
      this.client,
      [...keys, minutesKey(group), answerKey(this.process, group)],
      [now, JSON.stringify(namedByTexts(minutes)), ...args],
    );
  }

  async noteWaiting(messages: number, now: number): Promise<void> {
    const group = this.groupOf?.(ALL_DESTINATIONS);
    const keys = [waitingKey('minute', group), waitingKey('hour', group)];
    const minute = [minuteOf(now), MINUTE, KEPT_MINUTES];
    const hour = [hourOf(now), HOUR, KEPT_HOURS];
    await scripts.NOTE_WAITING.run(this.client, keys, [now, messages, ...minute, ...hour]);
  }

  async recent(destination: string, limit: number, now: number): Promise<StoredEntry[]> {
    const keys = keysOf(destination, this.groupOf?.(destination));
    const found = await scripts.RECENT.run(this.client, keys, [now, oldestOrdinal(now)]);
    const [others = [], whole = [], [latest] = []] = Array.isArray(found) ? found.map(textsIn) : [];
    const entries = inGroups(others, 3).map(([messageId = '', ordinal, text = '']): StoredEntry => {
      const [head = '', ...attempts] = text.split('\n');
      return entryOf(messageId, Number(ordinal), head, attempts);
    });
    const oldest = oldestOrdinal(now);
    entries.push(...whole.flatMap(entriesIn).filter(({ ordinal }) => ordinal >= oldest));
    return latestOf(entries, limit, Number(latest));
  }

  async hours(destination: string, first: number, last: number): Promise<StoredPeriods> {
    const groups = destination === ALL_DESTINATIONS ? this.groups : [this.groupOf?.(destination)];
    const keys = groups.map((group) => hoursKey(destination, group));
    return countsWithin(await this.periods(keys), first, last);
  }

  async minutes(first: number, last: number): Promise<StoredPeriods> {
    return countsWithin(await this.periods(this.groups.map(minutesKey)), first, last);
  }

  async waiting(length: PeriodLength, first: number, last: number): Promise<[number, number][]> {
    const key = waitingKey(length, this.groupOf?.(ALL_DESTINATIONS));
    return (await this.periods([key]))
      .map(([number, messages]): [number, number] => [number, Number(messages)])
      .filter(([number]) => number >= first && number <= last);
  }

  /** All groups of destinations, or a single `undefined` if destinations have no groups. */
  private get groups(): (number | undefined)[] {
    if (this.groupOf === undefined) return [undefined];
    return Array.from({ length: CLUSTER_GROUPS }, (_, group) => group);
  }

  private async periods(keys: readonly string[]): Promise<[number: number, text: string][]> {
    const found = await Promise.all(keys.map((key) => scripts.PERIODS.run(this.client, [key], [])));
    return found
      .flatMap((answer) => inGroups(textsIn(answer), 2))
      .map(([number, text = '']) => [Number(number), text]);
  }

  async forget(destination: string): Promise<void> {
    await scripts.FORGET.run(this.client, keysOf(destination, this.groupOf?.(destination)), []);
  }
}

/** Returns the arguments of the script `WRITE` for a destination. */
function argumentsOf({ entries, hours }: StoredHistory): string[] {
  const whole = entries.filter(({ isWhole }) => isWhole);
  const others = entries
    .filter(({ isWhole }) => isWhole !== true)
    .map((entry) => ({
      messageId: entry.messageId,
      ordinal: String(entry.ordinal),
      ...textsOf(entry),
    }));
  const given = JSON.stringify({ entries: others, whole: whole.length, hours: namedByTexts(hours) });
  if (whole.length === 0) return [given];
  const { name, text } = wholeEntriesOf(whole);
  return [given, name, text];
}

/** Returns the counts of each period, added up over all groups. */
function countsWithin(periods: readonly [number, string][], first: number, last: number): StoredPeriods {
  const sums = new Map<number, HourCounts>();
  for (const [number, text] of periods) {
    if (number < first || number > last) continue;
    const counts = HourCounts.of(parseCounts(text));
    const sum = sums.get(number);
    if (sum === undefined) sums.set(number, counts);
    else sum.add(counts);
  }
  return Array.from(sums, ([number, { stored }]) => [number, stored]);
}

/** Replaces the numbers of periods by texts: the script would read a number in JSON as floating point. */
function namedByTexts(periods: StoredPeriods): unknown[] {
  return periods.map(([number, counts]) => [String(number), counts]);
}

function textsIn(answer: unknown): string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}

function inGroups(texts: readonly string[], size: number): string[][] {
  const groups: string[][] = [];
  for (let start = 0; start < texts.length; start += size) groups.push(texts.slice(start, start + size));
  return groups;
}
