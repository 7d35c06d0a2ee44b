import { DestinationHistory } from './destination-history.js';
import type { RecordedMessages } from './history-entry.js';
import { HistoryRoom } from './history-room.js';
import { ALL_DESTINATIONS } from './history-store.js';
import type { HourCounts } from './hour-counts.js';

/** What happened at all destinations and is not written yet, as far as there is room for it. */
export class PendingHistories {
  private histories = new Map<string, DestinationHistory>();
  private readonly room = new HistoryRoom();

  /** @param ownerOf who shares room with a destination: the same for all destinations of a tenant */
  constructor(private readonly ownerOf: (destination: string) => string) {}

  get isEmpty(): boolean {
    return this.histories.size === 0;
  }

  /** How many entries there are, those on their way to the store included. */
  get entries(): number {
    return this.room.entryCount;
  }

  /**
   * Counts what happened at a destination: only among all, if there is no room for its own counts.
   *
   * @returns where its entries may be added; `undefined` if there is no room. A store finds them by the counts of their hour.
   */
  count(
    destination: string,
    hour: number,
    count: (counts: HourCounts) => void,
  ): DestinationHistory | undefined {
    const own = isStorable(destination) ? this.withRoomForHour(destination, hour) : this.ofOthers();
    const history = own ?? this.ofOthers();
    this.room.change(history, () => {
      count(history.countsOf(hour));
    });
    return own;
  }

  /**
   * Adds entries.
   *
   * @param firstOrdinal of the first of the messages; the others have the next ones
   * @returns whether there was room for them. A destination with as many as are kept needs none for later ones.
   */
  add(history: DestinationHistory, messages: RecordedMessages, firstOrdinal: number): boolean {
    if (history.isDiscarded) return true;
    const more = history.sizeWith(messages.size) - history.size;
    if (more > 0 && !this.room.hasRoomFor(history.owner, more)) return false;
    this.room.change(history, () => {
      history.add(messages, firstOrdinal);
    });
    return true;
  }

  /** Drops the entries of a destination. */
  discard(destination: string): void {
    const history = this.histories.get(destination);
    if (history === undefined) return;
    this.room.change(history, () => {
      history.discard();
    });
  }

  /** Makes the entries of all of it, so that no body is held. */
  summarize(): void {
    for (const history of this.histories.values()) {
      if (!history.isSummarized) this.room.change(history, () => history.summarize());
    }
  }

  /** Hands over all of it, in groups. It is in memory until it is released. */
  take(groupOf: (destination: string) => number): DestinationHistory[][] {
    const groups = new Map<number, DestinationHistory[]>();
    for (const [destination, history] of this.histories) {
      const group = groupOf(destination);
      const known = groups.get(group);
      if (known === undefined) groups.set(group, [history]);
      else known.push(history);
    }
    this.histories = new Map();
    this.room.sendAll();
    return [...groups.values()];
  }

  /** Makes the entries of one that was taken. */
  summarizeTaken(history: DestinationHistory): void {
    this.room.changeSent(history, () => history.summarize());
  }

  /** These are in the store. */
  release(written: readonly DestinationHistory[]): void {
    this.room.release(written);
  }

  /**
   * These are not in the store, and no others were taken. What has happened since is added to them.
   *
   * @param now milliseconds since the epoch
   */
  putBack(taken: readonly DestinationHistory[], now: number): void {
    const later = this.histories;
    this.histories = new Map(taken.map((history) => [history.destination, history]));
    for (const [destination, history] of later) {
      const earlier = this.histories.get(destination);
      if (earlier === undefined) this.histories.set(destination, history);
      else earlier.absorb(history);
    }
    for (const [destination, history] of this.histories) {
      history.forgetOld(now);
      if (history.size + history.hourCount === 0) this.histories.delete(destination);
    }
    this.room.reset(this.histories.values());
  }

  /** The history of a destination, unless there is no room for its counts of this hour. */
  private withRoomForHour(destination: string, hour: number): DestinationHistory | undefined {
    const known = this.histories.get(destination);
    if (known?.hasCountsOf(hour) === true) return known;
    const owner = known?.owner ?? this.ownerOf(destination);
    if (!this.room.hasRoomForHour(owner)) return undefined;
    if (known !== undefined) return known;
    const history = new DestinationHistory(destination, owner);
    this.histories.set(destination, history);
    return history;
  }

  /** Of those for which there is no room. */
  private ofOthers(): DestinationHistory {
    let others = this.histories.get(ALL_DESTINATIONS);
    if (others === undefined) {
      others = new DestinationHistory(ALL_DESTINATIONS, ALL_DESTINATIONS);
      others.discard();
      this.histories.set(ALL_DESTINATIONS, others);
    }
    return others;
  }
}

/** Whether it may be the id of a destination. A job that was not made by this package may name anything. */
function isStorable(destination: string): boolean {
  // PostgreSQL stores no such character.
  return destination !== ALL_DESTINATIONS && !destination.includes('\0');
}
