import type { BacklogCounter } from '../queue/backlog-counter.js';
import { endOfRest } from './end-of-rest.js';
import {
  CLAIM,
  type ClaimLimit,
  type OutboxRow,
  type OutboxStore,
  type SizedWaitingGroup,
} from './outbox-store.js';
import { Rooms } from './rooms.js';
import type { RowDecision } from './row-reader.js';

/** Number of rows that are read at once. */
const PAGE = 5_000;
/** Shortest pause between two pages, in milliseconds. */
const INTERVAL = 1_000;
/** Shortest pause while no row waits, in milliseconds. */
const IDLE_INTERVAL = 2_000;

interface WaitingRow {
  id: number;
  /** Bytes of the row's message. */
  bytes: number;
  destinations: string[] | null;
}

/**
 * Rows whose destinations are all full. Until one of their destinations has room, nothing is written to them, however
 * many there are: they are only read, page after page. No more rows are claimed than there is room for. What they wait
 * for is in the table and in the queue, so any process can go on with these rows.
 */
export class WaitingRows {
  /** Rows that are left of the current page. */
  private page: WaitingRow[] = [];
  /** Id of the last row of that page; 0 if it was the last page. */
  private after = 0;
  /** Time from which rows may be claimed again, by the monotonic clock. */
  private nextAt = -Infinity;
  /** Time until which reading a page rests. The rows of a page that was read do not wait for it. */
  private nextPageAt = -Infinity;
  private isRoomKnown = false;
  /** Number of claimed rows that have to be moved for the next claim to follow at once. */
  private many = Infinity;

  constructor(
    private readonly store: OutboxStore,
    private readonly backlogs: Pick<BacklogCounter, 'start' | 'roomFor'>,
  ) {}

  /** Milliseconds until rows may be claimed again. */
  get pause(): number {
    const at = this.page.length === 0 ? Math.max(this.nextAt, this.nextPageAt) : this.nextAt;
    return Math.max(at - performance.now(), 0);
  }

  /** Claims rows for which there is room, if the pause is over. */
  async claim(limit: ClaimLimit): Promise<OutboxRow[]> {
    if (this.pause > 0) return [];
    if (!this.isRoomKnown) {
      this.nextAt = performance.now() + INTERVAL;
      this.askForRoom();
      return [];
    }
    let interval = INTERVAL;
    if (this.page.length === 0) {
      const startedAt = performance.now();
      const groups = await this.store.waiting(this.after, PAGE);
      if (groups.length === 0 && this.after === 0) interval = IDLE_INTERVAL;
      this.turnTo(groups);
      this.nextPageAt = endOfRest(startedAt);
    }
    this.nextAt = performance.now() + interval;
    const ids = this.takeFromPage(limit);
    return ids.length === 0 ? [] : this.store.claimWaiting(CLAIM, ids);
  }

  /** Takes the decisions about the claimed rows. If many were moved, the next claim follows at once. */
  settled(decisions: readonly RowDecision[]): void {
    const moved = decisions.filter((decision) => 'move' in decision || decision.kind === 'drop');
    if (moved.length < this.many) return;
    this.nextAt = -Infinity;
    this.nextPageAt = -Infinity;
  }

  /**
   * Asks the queue for its backlogs without waiting, since an unreachable queue may take long. No row is claimed until
   * the queue answers: before, there seems to be room everywhere.
   */
  private askForRoom(): void {
    void this.backlogs.start().then((isKnown) => {
      this.isRoomKnown = isKnown;
    });
  }

  /** Keeps the rows of a page for which there is room. */
  private turnTo(groups: readonly SizedWaitingGroup[]): void {
    const ids = groups.flatMap((group) => group.ids);
    this.after = ids.length < PAGE ? 0 : Math.max(...ids);
    const rooms = new Rooms(this.roomFor);
    this.page = groups
      .filter(({ destinations }) => rooms.isAt(destinations))
      .flatMap(({ ids: found, bytes, destinations }) =>
        found.map((id, index) => ({ id, bytes: bytes[index] ?? 0, destinations })),
      )
      .sort((a, b) => a.id - b.id);
  }

  /** Returns the ids of rows for which there is room, in the order in which they were written. */
  private takeFromPage(limit: ClaimLimit): number[] {
    const rooms = new Rooms(this.roomFor);
    const found: number[] = [];
    let bytes = 0;
    let count = 0;
    const isFull = (): boolean => found.length === limit.rows || bytes >= limit.bytes;
    for (const row of this.page) {
      if (isFull()) break;
      count++;
      if (!rooms.take(row.destinations)) continue;
      found.push(row.id);
      bytes += row.bytes;
    }
    this.page = this.page.slice(count);
    this.many = (isFull() ? found.length : limit.rows) / 2;
    return found;
  }

  private readonly roomFor = (destination: string): number => this.backlogs.roomFor({ destination });
}
