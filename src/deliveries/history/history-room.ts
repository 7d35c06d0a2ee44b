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

/** The share of all room that groups may fill together while others are written and they are not. */
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

  /** How many of them are of some groups. */
  entryCountOf(isAmong: (group: number) => boolean): number {
    return this.entries.totalOf(isAmong);
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
    this.add(user, user.size - size, user.hourCount - hourCount);
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
      this.entries.addToOwner(owner, -size);
      this.hours.addToOwner(owner, -hourCount);
    }
  }

  /** Changes one that is on its way. */
  changeSent(user: HistoryRoomUser, change: () => void): void {
    const { group, size, hourCount } = user;
    change();
    this.entries.addToGroup(group, user.size - size);
    this.hours.addToGroup(group, user.hourCount - hourCount);
  }

  /** These have arrived. */
  release(sent: readonly HistoryRoomUser[]): void {
    for (const { group, size, hourCount } of sent) {
      this.entries.addToGroup(group, -size);
      this.hours.addToGroup(group, -hourCount);
    }
  }

  /** One has not arrived, and is not on its way any more. */
  putBack({ owner, size, hourCount }: HistoryRoomUser): void {
    this.entries.addToOwner(owner, size);
    this.hours.addToOwner(owner, hourCount);
  }

  /** Nothing of one is in memory any more. It was not on its way. */
  remove(user: HistoryRoomUser): void {
    this.add(user, -user.size, -user.hourCount);
  }

  private hasRoomIn(room: SharedRoom, { owner, group }: HistoryRoomOwner, more: number): boolean {
    const { isBehindOthers } = this;
    return room.hasRoomFor(owner, more, isBehindOthers(group) ? room.totalOf(isBehindOthers) : undefined);
  }

  private add({ owner, group }: HistoryRoomOwner, entries: number, hours: number): void {
    this.entries.addToGroup(group, entries);
    this.entries.addToOwner(owner, entries);
    this.hours.addToGroup(group, hours);
    this.hours.addToOwner(owner, hours);
  }
}

/** Counts what there is of one kind and of each group, and what each owner has of it that is not on its way. */
class SharedRoom {
  total = 0;
  private readonly groups = new Map<number, number>();
  private readonly owners = new Map<string, number>();

  constructor(private readonly limit: Limit) {}

  /** What there is of some groups. */
  totalOf(isAmong: (group: number) => boolean): number {
    let total = 0;
    for (const [group, ofGroup] of this.groups) if (isAmong(group)) total += ofGroup;
    return total;
  }

  /** @param ofLate what the groups have that are behind others, if it is for one of these */
  hasRoomFor(owner: string, more: number, ofLate?: number): boolean {
    const { most, mostReserved, ofOwner } = this.limit;
    const filledByLate = ofLate === undefined ? 0 : (ofLate + more) / SHARE_OF_LATE;
    const filled = Math.max(this.total + more, filledByLate);
    if (filled <= most) return true;
    return filled <= most + mostReserved && (this.owners.get(owner) ?? 0) + more <= ofOwner;
  }

  /** Changes what there is in all. */
  addToGroup(group: number, more: number): void {
    if (more === 0) return;
    this.total += more;
    this.groups.set(group, (this.groups.get(group) ?? 0) + more);
  }

  /** Changes what counts as its owner's alone. */
  addToOwner(owner: string, more: number): void {
    if (more === 0) return;
    const sum = (this.owners.get(owner) ?? 0) + more;
    if (sum === 0) this.owners.delete(owner);
    else this.owners.set(owner, sum);
  }

  sendAll(): void {
    this.owners.clear();
  }
}
