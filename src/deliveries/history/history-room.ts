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

/** What is in memory of a destination. */
export interface HistoryRoomUser {
  /** Who shares room with it: all destinations of its tenant, or none. */
  readonly owner: string;
  /** In entries. */
  readonly size: number;
  /** Hours of which it has counts. */
  readonly hourCount: number;
}

/**
 * Limits what is in memory of the history, what is on its way to the store included. One tenant may have thousands of
 * destinations, and must not take the room of the others.
 */
export class HistoryRoom {
  private readonly entries = new SharedRoom(ENTRIES);
  private readonly hours = new SharedRoom(HOURS);

  get entryCount(): number {
    return this.entries.total;
  }

  /** Whether there is room for this many more entries of an owner. */
  hasRoomFor(owner: string, entries: number): boolean {
    return this.entries.hasRoomFor(owner, entries);
  }

  /** Whether there is room for the counts of one more hour of a destination. */
  hasRoomForHour(owner: string): boolean {
    return this.hours.hasRoomFor(owner, 1);
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

  /** The same of one that is on its way. */
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

  /** Nothing is on its way, and nothing is in memory but what there is of these. */
  reset(users: Iterable<HistoryRoomUser>): void {
    this.sendAll();
    this.entries.total = 0;
    this.hours.total = 0;
    for (const { owner, size, hourCount } of users) this.add(owner, size, hourCount);
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

  hasRoomFor(owner: string, more: number): boolean {
    const { most, mostReserved, ofOwner } = this.limit;
    if (this.total + more <= most) return true;
    return this.total + more <= most + mostReserved && (this.owners.get(owner) ?? 0) + more <= ofOwner;
  }

  add(owner: string, more: number): void {
    if (more === 0) return;
    this.total += more;
    const sum = (this.owners.get(owner) ?? 0) + more;
    if (sum === 0) this.owners.delete(owner);
    else this.owners.set(owner, sum);
  }

  sendAll(): void {
    this.owners.clear();
  }
}
