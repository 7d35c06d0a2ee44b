import type { BatchMessage, QueuedBatch, UrlOutcome } from '../../queue/batch-job.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../../shared/clock.js';
import { TimeSlice } from '../../shared/time-slice.js';
import { DestinationHistory } from './destination-history.js';
import { type EntryState, RecordedMessages } from './history-entry.js';
import type { HistoryLog } from './history-log.js';
import { type HistoryStore, ordinalOf } from './history-store.js';
import { hourOf } from './hour-counts.js';
import { MinuteCounts } from './minute-counts.js';

/** How often it is written, in milliseconds. The embedded database is busy with a write for up to 20 of them. */
const INTERVAL = 2_000;
/** Entries that are written without waiting for that. */
const MANY_ENTRIES = 5_000;
/** Entries in memory. While the store does not take them, further ones are lost. */
const MAX_ENTRIES = 10_000;
/** Characters of the bodies that wait for their entries to be made. Each body may have 32,768. */
const MAX_BODY_SIZE = 4 * 2 ** 20;
/** Entries of one write, so that neither the database nor this process is busy with it for long. */
const ENTRIES_PER_WRITE = 200;
/** How long the store may be away before that is logged, in milliseconds. */
const PATIENCE = 60_000;

export interface HistoryRecorderParts {
  store: Pick<HistoryStore, 'write' | 'groupOf'>;
  log: HistoryLog;
  /** Whether the queue can be used. While it cannot, the log says so already. */
  isQueueUp: () => boolean;
  /** Which of these destinations are deleted. */
  deletedAmong: (destinations: readonly string[]) => Promise<ReadonlySet<string>>;
  /** @default the system's */
  clock?: Clock;
  /** The time, in milliseconds since the epoch. @default the system's */
  now?: () => number;
}

/**
 * Records what becomes of messages, and writes it every two seconds, so that no delivery waits for it. It holds
 * hardly more of a destination than what the store would keep. A crash loses the last two seconds. Counts are
 * written again if the answer of a write is lost, so they may then be too high.
 */
export class HistoryRecorder {
  private readonly clock: Clock;
  private readonly now: () => number;
  private pending = new Map<string, DestinationHistory>();
  private minutes = new MinuteCounts();
  /** Entries in memory, those on their way to the store included. */
  private entries = 0;
  /** Characters of the bodies that were recorded since entries were last made. */
  private bodySize = 0;
  private nextOrdinal = 0;
  private timer: Timer | undefined;
  private work: Promise<void> | undefined;
  /** When something became overdue to be written, by the clock; `undefined` if nothing is. */
  private waitingSince: number | undefined;
  private failure: unknown;
  private isClosed = false;

  constructor(private readonly parts: HistoryRecorderParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
    this.now = parts.now ?? Date.now;
  }

  /**
   * Records what became of messages of a batch.
   *
   * @param batch as it was before
   * @param messages with the outcomes of their attempts
   */
  record(batch: QueuedBatch, messages: readonly BatchMessage[], state: EntryState): void {
    if (messages.length === 0 || this.isClosed) return;
    if (this.entries >= MAX_ENTRIES) {
      this.parts.log.onLost(messages.length, this.failure);
      return;
    }
    const now = this.now();
    const history = this.historyOf(batch.destination);
    const counts = history.countsOf(hourOf(now));
    const known = outcomesOf(batch);
    const attempts = messages.map(({ outcomes }) =>
      known === undefined ? outcomes : outcomes.filter((outcome) => !known.has(outcome)),
    );
    for (const ofMessage of attempts) counts.count(state.state, ofMessage);
    const recorded = new RecordedMessages(messages, attempts, batch.source, state, known === undefined);
    this.minutes.count(state.state, messages.length, now);
    const firstOrdinal = Math.max(this.nextOrdinal, ordinalOf(now));
    this.nextOrdinal = firstOrdinal + recorded.size;
    const { size } = history;
    history.add(recorded, firstOrdinal);
    this.entries += history.size - size;
    this.bodySize += recorded.bodySize;
    if (this.bodySize > MAX_BODY_SIZE) this.summarizePending();
    this.schedule();
  }

  /** Forgets what is not written yet of a destination that was deleted. Its messages still count among all. */
  discard(destination: string): void {
    const history = this.pending.get(destination);
    if (history === undefined) return;
    this.entries -= history.size;
    history.discard();
  }

  /** Writes the rest. Waits for the store as long as it takes, so the caller sets a limit. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.timer?.cancel();
    await this.work;
    await this.write();
  }

  private historyOf(destination: string): DestinationHistory {
    let history = this.pending.get(destination);
    if (history === undefined) {
      this.pending.set(destination, (history = new DestinationHistory(destination)));
    }
    return history;
  }

  private schedule(): void {
    if (this.isClosed) return;
    const isUrgent = this.entries >= MANY_ENTRIES && this.failure === undefined;
    if (isUrgent && this.work === undefined) this.run();
    else {
      this.timer ??= this.clock.afterUnlessIdle(INTERVAL, () => {
        this.tick();
      });
    }
  }

  private tick(): void {
    this.timer = undefined;
    if (this.work === undefined) this.run();
    else {
      // The store does not answer. Bodies may be large, so they are not held until it does.
      this.summarizePending();
      this.schedule();
    }
    const waited = this.clock.now() - (this.waitingSince ?? Infinity);
    if (waited >= PATIENCE && this.parts.isQueueUp()) this.parts.log.onLost(0, this.failure);
  }

  private run(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.work = this.write().then(() => {
      this.work = undefined;
      if (this.pending.size > 0) this.schedule();
    });
  }

  /** Never rejects: what cannot be written stays in memory. */
  private async write(): Promise<void> {
    const groupOf = ({ destination }: DestinationHistory): number =>
      this.parts.store.groupOf?.(destination) ?? 0;
    const taken = [...this.pending.values()].sort((one, other) => groupOf(one) - groupOf(other));
    if (taken.length === 0) return;
    let minutes = this.minutes;
    this.pending = new Map();
    this.bodySize = 0;
    this.minutes = new MinuteCounts();
    this.waitingSince ??= this.clock.now();
    try {
      const slice = new TimeSlice();
      while (taken.length > 0) {
        const part = firstOf(taken, groupOf);
        const kept = await this.keptOf(part);
        for (const history of kept) {
          this.summarize(history);
          await slice.check();
        }
        await this.parts.store.write(
          [...kept.map(({ stored }) => stored), DestinationHistory.totalOf(part)],
          this.now(),
          minutes.stored,
        );
        minutes = new MinuteCounts();
        taken.splice(0, part.length);
        this.entries -= sizeOf(part);
      }
      this.failure = undefined;
      this.waitingSince = undefined;
      this.parts.log.onWritten();
    } catch (error) {
      this.failure = error;
      this.putBack(taken);
      minutes.absorb(this.minutes, this.now());
      this.minutes = minutes;
    }
  }

  private summarizePending(): void {
    for (const history of this.pending.values()) this.summarize(history);
    this.bodySize = 0;
  }

  /** Makes the entries of a history: those of one message become one, and no body is held for them. */
  private summarize(history: DestinationHistory): void {
    this.entries -= history.size;
    history.summarize();
    this.entries += history.size;
  }

  /** Those whose destination was not deleted while they waited, or while the last request to it was on its way. */
  private async keptOf(histories: readonly DestinationHistory[]): Promise<readonly DestinationHistory[]> {
    const ids = histories.map(({ destination }) => destination);
    // While that is not known, an entry too many is better than one that is missing.
    const deleted = await this.parts.deletedAmong(ids).catch(() => undefined);
    return histories.filter(
      ({ destination, isDiscarded }) => !isDiscarded && deleted?.has(destination) !== true,
    );
  }

  private putBack(taken: readonly DestinationHistory[]): void {
    const later = this.pending;
    this.pending = new Map(taken.map((history) => [history.destination, history]));
    for (const [destination, history] of later) {
      const earlier = this.pending.get(destination);
      if (earlier === undefined) this.pending.set(destination, history);
      else earlier.absorb(history);
    }
    this.entries = sizeOf([...this.pending.values()]);
  }
}

/** The attempts before; `undefined` if there were none, as of most batches. */
function outcomesOf({ messages }: QueuedBatch): ReadonlySet<UrlOutcome> | undefined {
  if (messages.every(({ outcomes }) => outcomes.length === 0)) return undefined;
  return new Set(messages.flatMap(({ outcomes }) => outcomes));
}

/** The first histories of the first group, as many as fit into a write of bounded size; at least one. */
function firstOf(
  histories: readonly DestinationHistory[],
  groupOf: (history: DestinationHistory) => number,
): DestinationHistory[] {
  const [first] = histories;
  const group = first && groupOf(first);
  let entries = 0;
  const end = histories.findIndex(
    (history) => (entries += history.size) > ENTRIES_PER_WRITE || groupOf(history) !== group,
  );
  return histories.slice(0, end === -1 ? histories.length : Math.max(end, 1));
}

function sizeOf(histories: readonly DestinationHistory[]): number {
  return histories.reduce((sum, { size }) => sum + size, 0);
}
