import type { BatchMessage, QueuedBatch, UrlOutcome } from '../../queue/batch-job.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../../shared/clock.js';
import { TimeSlice } from '../../shared/time-slice.js';
import { DestinationHistory } from './destination-history.js';
import { type EntryState, RecordedMessages } from './history-entry.js';
import type { HistoryLog } from './history-log.js';
import { type HistoryStore, ordinalOf, type StoredHistory } from './history-store.js';
import { hourOf } from './hour-counts.js';
import { MinuteCounts } from './minute-counts.js';
import { PendingHistories } from './pending-histories.js';

/** How often it is written, in milliseconds. The embedded database is busy with a write for up to 20 of them. */
const INTERVAL = 2_000;
/** Entries that are written without waiting for that. */
const MANY_ENTRIES = 5_000;
/** Characters of the bodies that wait for their entries to be made. Each body may have 32,768. */
const MAX_BODY_SIZE = 4 * 2 ** 20;
/** Entries of one write, or hours, so that neither the database nor this process is busy with it for long. */
const ROWS_PER_WRITE = 200;
/** How long the store may be away before that is logged, in milliseconds. */
const PATIENCE = 60_000;

export interface HistoryRecorderParts {
  store: Pick<HistoryStore, 'write' | 'groupOf'>;
  log: HistoryLog;
  /** Whether the queue can be used. While it cannot, the log says so already. */
  isQueueUp: () => boolean;
  /** Who shares room with a destination: the same for all destinations of a tenant. */
  ownerOf: (destination: string) => string;
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
  private readonly pending: PendingHistories;
  private minutes = new MinuteCounts();
  /** Characters of the bodies that were recorded since entries were last made. */
  private bodySize = 0;
  private nextOrdinal = 0;
  private timer: Timer | undefined;
  private work: Promise<void> | undefined;
  /** When something became overdue to be written, by the clock; `undefined` if nothing is. */
  private waitingSince: number | undefined;
  private failure: unknown;
  /** How often there was no room for entries. */
  private leftOut = 0;
  private isClosed = false;

  constructor(private readonly parts: HistoryRecorderParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
    this.now = parts.now ?? Date.now;
    this.pending = new PendingHistories(parts.ownerOf);
  }

  /**
   * Records what became of messages of a batch.
   *
   * @param batch as it was before
   * @param messages with the outcomes of their attempts
   */
  record(batch: QueuedBatch, messages: readonly BatchMessage[], state: EntryState): void {
    if (messages.length === 0 || this.isClosed) return;
    const now = this.now();
    const known = outcomesOf(batch);
    const attempts = messages.map(({ outcomes }) =>
      known === undefined ? outcomes : outcomes.filter((outcome) => !known.has(outcome)),
    );
    const history = this.pending.count(batch.destination, hourOf(now), (counts) => {
      for (const ofMessage of attempts) counts.count(state.state, ofMessage);
    });
    this.minutes.count(state.state, messages.length, now);
    const recorded = new RecordedMessages(messages, attempts, batch.source, state, known === undefined);
    const firstOrdinal = Math.max(this.nextOrdinal, ordinalOf(now));
    if (history !== undefined && this.pending.add(history, recorded, firstOrdinal)) {
      this.nextOrdinal = firstOrdinal + recorded.size;
      this.bodySize += recorded.bodySize;
      if (this.bodySize > MAX_BODY_SIZE) this.summarizePending();
    } else this.leaveOut(messages.length);
    this.schedule();
  }

  /** Forgets what is not written yet of a destination that was deleted. Its messages still count among all. */
  discard(destination: string): void {
    this.pending.discard(destination);
  }

  /** Writes the rest. Waits for the store as long as it takes, so the caller sets a limit. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.timer?.cancel();
    await this.work;
    await this.write();
  }

  private leaveOut(messages: number): void {
    this.leftOut++;
    this.parts.log.onLost(messages);
    if (this.failure !== undefined) this.parts.log.onAway(this.failure);
  }

  /** For how long the store has taken nothing of what is overdue, in milliseconds. */
  private get waited(): number {
    return this.clock.now() - (this.waitingSince ?? Infinity);
  }

  private schedule(): void {
    if (this.isClosed) return;
    const isUrgent = this.pending.entries >= MANY_ENTRIES && this.failure === undefined;
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
      // Bodies may be large, so they are not held until the store answers.
      if (this.waited >= INTERVAL) this.summarizePending();
      this.schedule();
    }
    if (this.waited >= PATIENCE && this.parts.isQueueUp()) this.parts.log.onAway(this.failure);
  }

  private run(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.work = this.write().then(() => {
      this.work = undefined;
      if (!this.pending.isEmpty) this.schedule();
    });
  }

  /** Never rejects: what cannot be written stays in memory. */
  private async write(): Promise<void> {
    const groups = this.pending.take((destination) => this.parts.store.groupOf?.(destination) ?? 0);
    if (groups.length === 0) return;
    const { bodySize, leftOut } = this;
    this.bodySize = 0;
    this.waitingSince ??= this.clock.now();
    const writes = groups.map((group) =>
      this.writeGroup(group, leftOut).catch((error: unknown) => {
        this.failure = error;
      }),
    );
    await Promise.all(writes);
    const left = groups.flat();
    if (left.length > 0) {
      this.pending.putBack(left, this.now());
      this.bodySize += bodySize;
      if (this.leftOut !== leftOut) this.parts.log.onAway(this.failure);
      return;
    }
    this.failure = undefined;
    this.waitingSince = undefined;
    if (this.leftOut === leftOut) this.parts.log.onWritten();
  }

  /**
   * Writes histories that can be written at once, and removes them from the group.
   *
   * @param leftOut when all of this began
   */
  private async writeGroup(group: DestinationHistory[], leftOut: number): Promise<void> {
    const slice = new TimeSlice();
    while (group.length > 0) {
      const part = firstOf(group);
      const kept = await this.keptOf(part);
      for (const history of kept) {
        this.pending.summarizeTaken(history);
        await slice.check();
      }
      await this.writePart([...kept.map(({ stored }) => stored), DestinationHistory.totalOf(part)]);
      group.splice(0, part.length);
      this.pending.release(part);
      if (this.failure === undefined) this.waitingSince = this.clock.now();
      if (this.leftOut !== leftOut) this.parts.log.onBehind();
    }
  }

  /** With the counts of minutes until now. */
  private async writePart(histories: readonly StoredHistory[]): Promise<void> {
    const { minutes } = this;
    this.minutes = new MinuteCounts();
    try {
      await this.parts.store.write(histories, this.now(), minutes.stored);
    } catch (error) {
      minutes.absorb(this.minutes, this.now());
      this.minutes = minutes;
      throw error;
    }
  }

  private summarizePending(): void {
    this.pending.summarize();
    this.bodySize = 0;
  }

  /** Those whose destination was not deleted while they waited, or while the last request to it was on its way. */
  private async keptOf(histories: readonly DestinationHistory[]): Promise<readonly DestinationHistory[]> {
    const wanted = histories.filter(({ isDiscarded }) => !isDiscarded);
    const ids = wanted.map(({ destination }) => destination);
    // While that is not known, an entry too many is better than one that is missing.
    const deleted = await this.parts.deletedAmong(ids).catch(() => undefined);
    return wanted.filter(
      ({ destination, isDiscarded }) => !isDiscarded && deleted?.has(destination) !== true,
    );
  }
}

/** The attempts before; `undefined` if there were none, as of most batches. */
function outcomesOf({ messages }: QueuedBatch): ReadonlySet<UrlOutcome> | undefined {
  if (messages.every(({ outcomes }) => outcomes.length === 0)) return undefined;
  return new Set(messages.flatMap(({ outcomes }) => outcomes));
}

/** As many of the first histories as fit into a write of bounded size; at least one. Some have only hours. */
function firstOf(histories: readonly DestinationHistory[]): DestinationHistory[] {
  let rows = 0;
  const end = histories.findIndex(
    ({ size, hourCount }) => (rows += Math.max(size, hourCount)) > ROWS_PER_WRITE,
  );
  return histories.slice(0, end === -1 ? histories.length : Math.max(end, 1));
}
