import type { BatchMessage, QueuedBatch, UrlOutcome } from '../../queue/batch-job.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../../shared/clock.js';
import { type EntryState, RecordedMessages } from './history-entry.js';
import { HistoryGroups } from './history-groups.js';
import type { HistoryLog } from './history-log.js';
import { type HistoryStore, ordinalOf } from './history-store.js';
import { hourOf } from './hour-counts.js';
import { HistoryWriter } from './history-writer.js';
import { PendingHistories } from './pending-histories.js';

/** Time between writes, in milliseconds. A write keeps the embedded database busy for up to 20 milliseconds. */
const INTERVAL = 2_000;
/** Number of entries that are written at once, without waiting for the interval. */
const MANY_ENTRIES = 5_000;
/** Entries keep their order if the clock is set back by no more than this. */
const MAX_LEAD = ordinalOf(10_000);

export interface HistoryRecorderParts {
  store: Pick<HistoryStore, 'write' | 'groupOf'>;
  log: HistoryLog;
  /** Whether the queue can be used. While it cannot, the log says so already. */
  isQueueUp: () => boolean;
  /** Returns the name under which a destination shares room: the same for all destinations of a tenant. */
  ownerOf: (destination: string) => string;
  /** Returns those destinations that are deleted. */
  deletedAmong: (destinations: readonly string[]) => Promise<ReadonlySet<string>>;
  /** @default the system's */
  clock?: Clock;
  /** The time, in milliseconds since the epoch. @default the system's */
  now?: () => number;
}

/**
 * Records what becomes of messages, and writes the records every two seconds, so that no delivery waits for a write.
 * Holds hardly more of a destination than the store would keep. A crash loses the last two seconds.
 */
export class HistoryRecorder {
  private readonly clock: Clock;
  private readonly now: () => number;
  private readonly pending: PendingHistories;
  private readonly groups: HistoryGroups;
  private readonly writer: HistoryWriter;
  private nextOrdinal = 0;
  private timer: Timer | undefined;
  private isClosed = false;

  constructor(parts: HistoryRecorderParts) {
    const { clock = SYSTEM_CLOCK, now = Date.now, store, log, isQueueUp, ownerOf, deletedAmong } = parts;
    this.clock = clock;
    this.now = now;
    this.groups = new HistoryGroups({ log, clock, isQueueUp });
    this.pending = new PendingHistories({
      ownerOf,
      groupOf: (destination) => store.groupOf?.(destination) ?? 0,
      isBehindOthers: (group) => this.groups.isBehindOthers(group),
    });
    this.writer = new HistoryWriter({
      pending: this.pending,
      groups: this.groups,
      store,
      deletedAmong,
      clock,
      now,
      onEnd: () => {
        if (!this.pending.isEmpty) this.schedule();
      },
    });
  }

  /**
   * Records what became of messages of a batch.
   *
   * @param batch as it was before the attempts
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
    this.writer.count(state.state, messages.length, now);
    const recorded = new RecordedMessages(messages, attempts, batch.source, state, known === undefined);
    const firstOrdinal = this.firstOrdinalAt(now);
    if (history !== undefined && this.pending.add(history, recorded, firstOrdinal)) {
      this.nextOrdinal = firstOrdinal + recorded.size;
    } else this.groups.onLost(messages.length);
    this.schedule();
  }

  /** Forgets the unwritten history of a deleted destination. Its messages still count among all destinations. */
  discard(destination: string): void {
    this.pending.discard(destination);
  }

  /** Writes the rest. Waits for the store as long as it takes, so the caller sets a limit. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.timer?.cancel();
    await this.writer.finish();
  }

  private schedule(): void {
    if (this.isClosed) return;
    if (this.areManyReady) this.writer.beginReady();
    // A write that could not begin must not wait for the next delivery.
    this.timer ??= this.clock.afterUnlessIdle(INTERVAL, () => {
      this.tick();
    });
  }

  /** Returns the next ordinal. If the clock was hours ahead, going on from there would hide what others deliver. */
  private firstOrdinalAt(now: number): number {
    const ordinal = ordinalOf(now);
    return this.nextOrdinal > ordinal + MAX_LEAD ? ordinal : Math.max(this.nextOrdinal, ordinal);
  }

  /** Whether there are many entries that can be written at once. */
  private get areManyReady(): boolean {
    const { pending, groups } = this;
    // The first check is cheap, and mostly decides.
    return (
      pending.entries >= MANY_ENTRIES && pending.entriesOf((group) => groups.isReady(group)) >= MANY_ENTRIES
    );
  }

  private tick(): void {
    this.timer = undefined;
    this.writer.begin();
    if (!this.pending.isEmpty) {
      // Bodies may be large, so they are not held until the store answers.
      if (this.groups.isAnyLate) this.pending.summarize();
      this.schedule();
    }
    this.groups.check();
  }
}

/** Returns the outcomes of earlier attempts, or `undefined` if there were none, as in most batches. */
function outcomesOf({ messages }: QueuedBatch): ReadonlySet<UrlOutcome> | undefined {
  if (messages.every(({ outcomes }) => outcomes.length === 0)) return undefined;
  return new Set(messages.flatMap(({ outcomes }) => outcomes));
}
