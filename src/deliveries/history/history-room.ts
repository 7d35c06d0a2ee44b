/** Limit for one kind of data in memory. */
interface Limit {
  readonly most: number;
  /** Owners that have less than this also get room beyond `most`. */
  readonly ofOwner: number;
  /** Room beyond `most` for all of these owners together. */
  readonly mostReserved: number;
}

const ENTRIES: Limit = { most: 10_000, ofOwner: 100, mostReserved: 10_000 };
/** Hours of destinations, each with its counts. */
const HOURS: Limit = { most: 20_000, ofOwner: 100, mostReserved: 10_000 };

/** Share of all room that groups may fill together while they are not written but others are. */
const SHARE_OF_LATE = 1 / 4;

/** The part of a destination's data that decides how much room it may fill. */
export interface HistoryRoomOwner {
  /** Name under which destinations share room: the same for all destinations of a tenant. */
  readonly owner: string;
  /** Group that the destination is written with. */
  readonly group: number;
}

/** What a destination has in memory. */
export interface HistoryRoomUser extends HistoryRoomOwner {
  /** Number of entries. */
  readonly size: number;
  /** Number of hours with counts. */
  readonly hourCount: number;
}

/**
 * Limits how much history is in memory, including what is being written. A tenant may have thousands of destinations,
 * and must not take the room of others. Nor may the destinations of a cluster node that does not answer.
 */
export class HistoryRoom {
  private readonly entries = new SharedRoom(ENTRIES);
  private readonly hours = new SharedRoom(HOURS);

  /** @param isBehindOthers whether nothing of a group is written while others are */
  constructor(private readonly isBehindOthers: (group: number) => boolean) {}

  get entryCount(): number {
    return this.entries.total;
  }

  /** Returns how many entries some groups have. */
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

  /** Runs a change of what a destination has in memory, and counts the difference. */
  change<T>(user: HistoryRoomUser, change: () => T): T {
    const { size, hourCount } = user;
    const result = change();
    this.add(user, user.size - size, user.hourCount - hourCount);
    return result;
  }

  /** Marks everything as being written: it still takes room, but no longer counts for its owners. */
  sendAll(): void {
    this.entries.sendAll();
    this.hours.sendAll();
  }

  /** Does the same for these destinations only. */
  send(users: readonly HistoryRoomUser[]): void {
    for (const { owner, size, hourCount } of users) {
      this.entries.addToOwner(owner, -size);
      this.hours.addToOwner(owner, -hourCount);
    }
  }

  /** Runs a change of a destination's data that is being written, and counts the difference. */
  changeSent(user: HistoryRoomUser, change: () => void): void {
    const { group, size, hourCount } = user;
    change();
    this.entries.addToGroup(group, user.size - size);
    this.hours.addToGroup(group, user.hourCount - hourCount);
  }

  /** Frees the room of data that was written. */
  release(sent: readonly HistoryRoomUser[]): void {
    for (const { group, size, hourCount } of sent) {
      this.entries.addToGroup(group, -size);
      this.hours.addToGroup(group, -hourCount);
    }
  }

  /** Counts data for its owner again after its write has failed. */
  putBack({ owner, size, hourCount }: HistoryRoomUser): void {
    this.entries.addToOwner(owner, size);
    this.hours.addToOwner(owner, hourCount);
  }

  /** Frees the room of a destination's data that was not being written. */
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

/** Counts data of one kind: in total, by group, and by owner. An owner's count excludes data that is being written. */
class SharedRoom {
  total = 0;
  private readonly groups = new Map<number, number>();
  private readonly owners = new Map<string, number>();

  constructor(private readonly limit: Limit) {}

  /** Returns how much some groups have. */
  totalOf(isAmong: (group: number) => boolean): number {
    let total = 0;
    for (const [group, ofGroup] of this.groups) if (isAmong(group)) total += ofGroup;
    return total;
  }

  /** @param ofLate how much all groups that are behind others have, if the room is for such a group */
  hasRoomFor(owner: string, more: number, ofLate?: number): boolean {
    const { most, mostReserved, ofOwner } = this.limit;
    const filledByLate = ofLate === undefined ? 0 : (ofLate + more) / SHARE_OF_LATE;
    const filled = Math.max(this.total + more, filledByLate);
    if (filled <= most) return true;
    return filled <= most + mostReserved && (this.owners.get(owner) ?? 0) + more <= ofOwner;
  }

  /** Changes the total and the count of a group. */
  addToGroup(group: number, more: number): void {
    if (more === 0) return;
    this.total += more;
    this.groups.set(group, (this.groups.get(group) ?? 0) + more);
  }

  /** Changes the count of an owner. */
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
