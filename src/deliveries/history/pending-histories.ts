import { DestinationHistory } from './destination-history.js';
import type { RecordedMessages } from './history-entry.js';
import { HistoryRoom, type HistoryRoomOwner } from './history-room.js';
import { ALL_DESTINATIONS } from './history-store.js';
import type { HourCounts } from './hour-counts.js';

/** Characters of the bodies that wait for their entries to be made. Each body may have 32,768. */
const MAX_BODY_SIZE = 4 * 2 ** 20;

export interface PendingHistoriesParts {
  /** Who shares room with a destination: the same for all destinations of a tenant. */
  ownerOf: (destination: string) => string;
  /** The number of the group that a destination is written with. */
  groupOf: (destination: string) => number;
  /** Whether nothing of a group is written while others are. */
  isBehindOthers: (group: number) => boolean;
}

/** What happened at all destinations and is not written yet, as far as there is room for it. */
export class PendingHistories {
  private histories = new Map<string, DestinationHistory>();
  private readonly room: HistoryRoom;
  /** Characters of the bodies that were added since entries were last made; some may be gone already. */
  private bodySize = 0;

  constructor(private readonly parts: PendingHistoriesParts) {
    this.room = new HistoryRoom(parts.isBehindOthers);
  }

  get isEmpty(): boolean {
    return this.histories.size === 0;
  }

  /** How many entries there are, those on their way to the store included. */
  get entries(): number {
    return this.room.entryCount;
  }

  /** The same of some groups. */
  entriesOf(isAmong: (group: number) => boolean): number {
    return this.room.entryCountOf(isAmong);
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
    if (more > 0 && !this.room.hasRoomFor(history, more)) return false;
    this.room.change(history, () => {
      history.add(messages, firstOrdinal);
    });
    this.bodySize += messages.bodySize;
    if (this.bodySize > MAX_BODY_SIZE) this.summarize();
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
    this.bodySize = 0;
  }

  /**
   * Hands over the histories of each group. They are in memory until they are released.
   *
   * @param isStaying whether those of a group stay here
   */
  take(isStaying: (group: number) => boolean): Map<number, DestinationHistory[]> {
    const groups = new Map<number, DestinationHistory[]>();
    const staying = new Map<string, DestinationHistory>();
    for (const [destination, history] of this.histories) {
      const { group } = history;
      const known = groups.get(group);
      if (known !== undefined) known.push(history);
      else if (isStaying(group)) staying.set(destination, history);
      else groups.set(group, [history]);
    }
    this.histories = staying;
    if (this.isEmpty) {
      this.bodySize = 0;
      this.room.sendAll();
    } else for (const taken of groups.values()) this.room.send(taken);
    return groups;
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
   * These are not in the store. What has happened since is added to them.
   *
   * @param now milliseconds since the epoch
   */
  putBack(taken: readonly DestinationHistory[], now: number): void {
    for (const history of taken) {
      const { destination } = history;
      const later = this.histories.get(destination);
      if (later !== undefined) this.room.remove(later);
      this.room.putBack(history);
      this.room.change(history, () => {
        if (later !== undefined) history.absorb(later);
        history.forgetOld(now);
      });
      if (history.size + history.hourCount === 0) this.histories.delete(destination);
      else this.histories.set(destination, history);
      this.bodySize += history.bodySize;
    }
  }

  /** The history of a destination, unless there is no room for its counts of this hour. */
  private withRoomForHour(destination: string, hour: number): DestinationHistory | undefined {
    const known = this.histories.get(destination);
    if (known?.hasCountsOf(hour) === true) return known;
    const owner = known ?? this.roomOwnerOf(destination);
    if (!this.room.hasRoomForHour(owner)) return undefined;
    if (known !== undefined) return known;
    const history = new DestinationHistory(destination, owner.owner, owner.group);
    this.histories.set(destination, history);
    return history;
  }

  private roomOwnerOf(destination: string): HistoryRoomOwner {
    const { ownerOf, groupOf } = this.parts;
    return { owner: ownerOf(destination), group: groupOf(destination) };
  }

  /** Of those for which there is no room. */
  private ofOthers(): DestinationHistory {
    let others = this.histories.get(ALL_DESTINATIONS);
    if (others === undefined) {
      others = new DestinationHistory(
        ALL_DESTINATIONS,
        ALL_DESTINATIONS,
        this.parts.groupOf(ALL_DESTINATIONS),
      );
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
