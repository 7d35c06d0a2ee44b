import type { Clock } from '../../shared/clock.js';
import { TimeSlice } from '../../shared/time-slice.js';
import { DestinationHistory } from './destination-history.js';
import type { HistoryGroup } from './history-group.js';
import type { HistoryGroups } from './history-groups.js';
import type { HistoryStore, StoredHistory } from './history-store.js';
import type { RecentDelivery } from './history.types.js';
import { MinuteCounts } from './minute-counts.js';
import type { PendingHistories } from './pending-histories.js';

/** Maximum number of entries, or of hours, in a write: no write keeps the database or this process busy for long. */
const ROWS_PER_WRITE = 200;
/** How long a write waits to learn which destinations are deleted, in milliseconds. */
const LOOK_UP_PATIENCE = 2_000;

export interface HistoryWriterParts {
  pending: PendingHistories;
  groups: HistoryGroups;
  store: Pick<HistoryStore, 'write'>;
  /** Returns those destinations that are deleted. */
  deletedAmong: (destinations: readonly string[]) => Promise<ReadonlySet<string>>;
  clock: Clock;
  /** The time, in milliseconds since the epoch. */
  now: () => number;
  /** Called when a write has ended, whether it succeeded or failed. */
  onEnd: () => void;
}

/**
 * Writes pending histories. Each group of destinations is written by itself, so that a cluster node that does not
 * answer holds back only the data that it is to store.
 */
export class HistoryWriter {
  private minutes = new MinuteCounts();

  constructor(private readonly parts: HistoryWriterParts) {}

  /** Counts what became of messages at a time, in milliseconds since the epoch. */
  count(state: RecentDelivery['state'], messages: number, now: number): void {
    this.minutes.count(state, messages, now);
  }

  /** Begins to write each group that has no write in progress. */
  begin(): void {
    this.beginAllBut((group) => this.parts.groups.isBusy(group));
  }

  /** Does the same, but not for groups whose last write has failed. */
  beginReady(): void {
    this.beginAllBut((group) => !this.parts.groups.isReady(group));
  }

  /** Writes the rest of each group once its write in progress has ended, whatever becomes of other groups. */
  async finish(): Promise<void> {
    const { groups } = this.parts;
    const { work } = groups;
    this.begin();
    await Promise.all(
      work.map((one) =>
        one.then(() => {
          this.begin();
        }),
      ),
    );
    await Promise.all(groups.work);
    await this.writeRestOfMinutes();
  }

  private beginAllBut(isStaying: (group: number) => boolean): void {
    const { pending, groups } = this.parts;
    const taken = pending.take(isStaying);
    const begun = Array.from(taken, ([number, histories]) => ({ group: groups.begin(number), histories }));
    for (const { group, histories } of begun) {
      // A group that has failed may fail again, and hold back the counts of minutes, which are of all destinations.
      const withMinutes = group.failure === undefined || !groups.isAnyWellBusy;
      group.work = this.write(group, histories, withMinutes).then(this.parts.onEnd);
    }
  }

  /** Never rejects: what cannot be written stays in memory. */
  private async write(
    group: HistoryGroup,
    histories: DestinationHistory[],
    withMinutes: boolean,
  ): Promise<void> {
    const { pending, groups, now } = this.parts;
    try {
      await this.writeParts(group, histories, withMinutes);
    } catch (error) {
      pending.putBack(histories, now());
      groups.onFailure(group, error);
      return;
    }
    groups.onWritten(group);
  }

  /** Writes histories of a group, and removes the written histories from the array. */
  private async writeParts(
    group: HistoryGroup,
    histories: DestinationHistory[],
    withMinutes: boolean,
  ): Promise<void> {
    const { pending, groups, store, now } = this.parts;
    const slice = new TimeSlice();
    while (histories.length > 0) {
      const part = firstOf(histories);
      const kept = await this.keptOf(group, part);
      for (const history of kept) {
        pending.summarizeTaken(history);
        await slice.check();
      }
      const stored = [...kept.map((history) => history.stored), DestinationHistory.totalOf(part)];
      if (withMinutes) await this.writeWithMinutes(stored);
      else await store.write(stored, now());
      histories.splice(0, part.length);
      pending.release(part);
      groups.onAnswer(group);
    }
  }

  /** Writes histories together with the counts of minutes until now. */
  private async writeWithMinutes(histories: readonly StoredHistory[]): Promise<void> {
    const { minutes } = this;
    const { store, now } = this.parts;
    this.minutes = new MinuteCounts();
    try {
      await store.write(histories, now(), minutes.stored);
    } catch (error) {
      minutes.absorb(this.minutes, now());
      this.minutes = minutes;
      throw error;
    }
  }

  /** Writes the remaining counts of minutes: a write of a group that had failed may have left them out. */
  private async writeRestOfMinutes(): Promise<void> {
    if (this.minutes.isEmpty) return;
    try {
      await this.writeWithMinutes([]);
    } catch {
      // The counts are lost, like everything else that the store has not taken by now.
    }
  }

  /** Returns the histories whose destination was not deleted while they waited, or during the last request to it. */
  private async keptOf(
    group: HistoryGroup,
    histories: readonly DestinationHistory[],
  ): Promise<readonly DestinationHistory[]> {
    const wanted = histories.filter(({ isDiscarded }) => !isDiscarded);
    const ids = wanted.map(({ destination }) => destination);
    // While the answer is unknown, a superfluous entry is better than a missing one.
    const deleted = group.isLookUpSilent ? undefined : await this.deletedAmong(group, ids);
    return wanted.filter(
      ({ destination, isDiscarded }) => !isDiscarded && deleted?.has(destination) !== true,
    );
  }

  /** Returns `undefined` if the answer is not known in time: it may be known only to a node that does not respond. */
  private deletedAmong(
    group: HistoryGroup,
    ids: readonly string[],
  ): Promise<ReadonlySet<string> | undefined> {
    const { clock, deletedAmong } = this.parts;
    return new Promise((resolve) => {
      const timer = clock.afterUnlessIdle(LOOK_UP_PATIENCE, () => {
        group.isLookUpSilent = true;
        resolve(undefined);
      });
      void deletedAmong(ids)
        .then(resolve, () => {
          resolve(undefined);
        })
        .finally(() => {
          timer.cancel();
          group.isLookUpSilent = false;
        });
    });
  }
}

/** Returns the first histories that fit into a write of bounded size, at least one. Some have only hours. */
function firstOf(histories: readonly DestinationHistory[]): DestinationHistory[] {
  let rows = 0;
  const end = histories.findIndex(
    ({ size, hourCount }) => (rows += Math.max(size, hourCount)) > ROWS_PER_WRITE,
  );
  return histories.slice(0, end === -1 ? histories.length : Math.max(end, 1));
}
