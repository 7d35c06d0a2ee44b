/** What is kept in memory of one kind. */
interface Limit {
  readonly most: number;
  /** Owners who have less than this also get room beyond `most`. */
  readonly ofOwner: number;
  /** How much there is beyond `most`, for all of them together. */
  readonly mostReserved: number;
}

const ENTRIES: Limit = { most: 10_000, ofOwner: 100, mostReserved: 10_000 };
/** Hours of destinations, with their counts. */
const HOURS: Limit = { most: 20_000, ofOwner: 100, mostReserved: 10_000 };

/** The share of all room that a group may fill while others are written and it is not. */
const SHARE_OF_LATE = 1 / 4;

/** A destination, as far as it matters for how much of the room it may fill. */
export interface HistoryRoomOwner {
  /** Who shares room with it: all destinations of its tenant, or none. */
  readonly owner: string;
  /** That it is written with. */
  readonly group: number;
}

/** What is in memory of a destination. */
export interface HistoryRoomUser extends HistoryRoomOwner {
  /** In entries. */
  readonly size: number;
  /** Hours of which it has counts. */
  readonly hourCount: number;
}

/**
 * Limits what is in memory of the history, what is on its way to the store included. One tenant may have thousands of
 * destinations, and must not take the room of the others. Nor may the destinations of a node that does not answer.
 */
export class HistoryRoom {
  private readonly entries = new SharedRoom(ENTRIES);
  private readonly hours = new SharedRoom(HOURS);

  /** @param isBehindOthers whether nothing of a group is written while others are */
  constructor(private readonly isBehindOthers: (group: number) => boolean) {}

  get entryCount(): number {
    return this.entries.total;
  }

  /** Whether there is room for this many more entries of a destination. */
  hasRoomFor(user: HistoryRoomOwner, entries: number): boolean {
    return this.hasRoomIn(this.entries, user, entries);
  }

  /** Whether there is room for the counts of one more hour of a destination. */
  hasRoomForHour(user: HistoryRoomOwner): boolean {
    return this.hasRoomIn(this.hours, user, 1);
  }

  /** Changes what is in memory of a destination. */
  change<T>(user: HistoryRoomUser, change: () => T): T {
    const { size, hourCount } = user;
    const result = change();
    this.add(user.owner, user.size - size, user.hourCount - hourCount);
    return result;
  }

  /** All of it is on its way to the store: it takes room, and none of what its owners may have beside it. */
  sendAll(): void {
    this.entries.sendAll();
    this.hours.sendAll();
  }

  /** The same of these alone. */
  send(users: readonly HistoryRoomUser[]): void {
    for (const { owner, size, hourCount } of users) {
      this.entries.addTo(owner, -size);
      this.hours.addTo(owner, -hourCount);
    }
  }

  /** Changes one that is on its way. */
  changeSent(user: HistoryRoomUser, change: () => void): void {
    const { size, hourCount } = user;
    change();
    this.entries.total += user.size - size;
    this.hours.total += user.hourCount - hourCount;
  }

  /** These have arrived. */
  release(sent: readonly HistoryRoomUser[]): void {
    for (const { size, hourCount } of sent) {
      this.entries.total -= size;
      this.hours.total -= hourCount;
    }
  }

  /** One has not arrived, and is not on its way any more. */
  putBack({ owner, size, hourCount }: HistoryRoomUser): void {
    this.entries.addTo(owner, size);
    this.hours.addTo(owner, hourCount);
  }

  /** Nothing of one is in memory any more. It was not on its way. */
  remove({ owner, size, hourCount }: HistoryRoomUser): void {
    this.add(owner, -size, -hourCount);
  }

  private hasRoomIn(room: SharedRoom, { owner, group }: HistoryRoomOwner, more: number): boolean {
    return room.hasRoomFor(owner, more, this.isBehindOthers(group) ? SHARE_OF_LATE : 1);
  }

  private add(owner: string, entries: number, hours: number): void {
    this.entries.add(owner, entries);
    this.hours.add(owner, hours);
  }
}

/** Counts what there is of one kind, and what each owner has of it that is not on its way. */
class SharedRoom {
  total = 0;
  private readonly owners = new Map<string, number>();

  constructor(private readonly limit: Limit) {}

  /** @param share of all of it */
  hasRoomFor(owner: string, more: number, share: number): boolean {
    const { most, mostReserved, ofOwner } = this.limit;
    const filled = (this.total + more) / share;
    if (filled <= most) return true;
    return filled <= most + mostReserved && (this.owners.get(owner) ?? 0) + more <= ofOwner;
  }

  add(owner: string, more: number): void {
    this.total += more;
    this.addTo(owner, more);
  }

  /** Changes what counts as its owner's alone. */
  addTo(owner: string, more: number): void {
    if (more === 0) return;
    const sum = (this.owners.get(owner) ?? 0) + more;
    if (sum === 0) this.owners.delete(owner);
    else this.owners.set(owner, sum);
  }

  sendAll(): void {
    this.owners.clear();
  }
}
