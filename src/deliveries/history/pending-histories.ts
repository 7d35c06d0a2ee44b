import { DestinationHistory } from './destination-history.js';
import type { RecordedMessages } from './history-entry.js';
import { HistoryRoom, type HistoryRoomOwner } from './history-room.js';
import { ALL_DESTINATIONS } from './history-store.js';
import type { HourCounts } from './hour-counts.js';

/** Maximum number of characters of bodies whose entries are not made yet. Each body may have 32,768. */
const MAX_BODY_SIZE = 4 * 2 ** 20;

export interface PendingHistoriesParts {
  /** Returns the name under which a destination shares room: the same for all destinations of a tenant. */
  ownerOf: (destination: string) => string;
  /** Returns the number of the group that a destination is written with. */
  groupOf: (destination: string) => number;
  /** Whether nothing of a group is written while others are. */
  isBehindOthers: (group: number) => boolean;
}

/** What happened at all destinations and is not written yet, as far as there is room for it. */
export class PendingHistories {
  private histories = new Map<string, DestinationHistory>();
  private readonly room: HistoryRoom;
  /** Characters of the bodies that were added since entries were last made; some bodies may be gone already. */
  private bodySize = 0;

  constructor(private readonly parts: PendingHistoriesParts) {
    this.room = new HistoryRoom(parts.isBehindOthers);
  }

  get isEmpty(): boolean {
    return this.histories.size === 0;
  }

  /** Number of entries, including those that are being written. */
  get entries(): number {
    return this.room.entryCount;
  }

  /** Returns the number of entries of some groups, including those that are being written. */
  entriesOf(isAmong: (group: number) => boolean): number {
    return this.room.entryCountOf(isAmong);
  }

  /**
   * Counts what happened at a destination, or only among all if there is no room for its own counts.
   *
   * @returns the history to add entries to; `undefined` without room. A store finds entries by the counts of their
   *   hour.
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
   * @param firstOrdinal ordinal of the first message; the others have the following ordinals
   * @returns whether there was room. A destination with as many entries as are kept needs none for later entries.
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

  /** Makes the entries of all histories, so that no bodies are held. */
  summarize(): void {
    for (const history of this.histories.values()) {
      if (!history.isSummarized) this.room.change(history, () => history.summarize());
    }
    this.bodySize = 0;
  }

  /**
   * Hands over the histories of each group. They stay in memory until they are released.
   *
   * @param isStaying whether the histories of a group are not handed over
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

  /** Makes the entries of a history that was handed over. */
  summarizeTaken(history: DestinationHistory): void {
    this.room.changeSent(history, () => history.summarize());
  }

  /** Frees the room of histories that were written. */
  release(written: readonly DestinationHistory[]): void {
    this.room.release(written);
  }

  /**
   * Takes back histories that could not be written, and adds what has happened since.
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

  /** Returns the history of a destination, or `undefined` if there is no room for its counts of this hour. */
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

  /** Returns the history of all destinations for which there is no room. */
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

/** Returns whether a text may be the id of a destination. A job that was not made by this package may name anything. */
function isStorable(destination: string): boolean {
  // PostgreSQL cannot store this character.
  return destination !== ALL_DESTINATIONS && !destination.includes('\0');
}
