/** Share of a destination's limit from which its changes are written at once: other processes do not know them yet. */
const MANY_CHANGES_SHARE = 1 / 20;
/** The same share while the destination's total is watched. */
const MANY_WATCHED_CHANGES_SHARE = 1 / 200;
/** Share of its limit from which a total is read even without changes here, since other processes may change it. */
const WATCHED_SHARE = 0.5;
/** Number of waiting messages from which new ones for a destination may let messages for others go first. */
const MANY_WAITING = 500;
/** How old a total of at least `MANY_WAITING` may be, in milliseconds. */
const FRESH_FOR = 10_000;
/** How long a backlog below `MANY_WAITING` is kept without changes here, in milliseconds. */
const KEPT_FOR = 60_000;

/** A destination that has reached its limit. */
export interface FullBacklog {
  /** The destination's id. */
  destination: string;
  limit: number;
  /** Messages that wait for it, over all processes. */
  waiting: number;
  /** When this process found it full, in milliseconds since the epoch. */
  since: number;
  /** Messages that this process has refused since then. */
  refused: number;
}

/** One destination's backlog, in messages. */
export interface DestinationBacklog {
  readonly destination: string;
  readonly limit: number;
  /** The destination's tenant; `undefined` if it has none, or while it is not known. */
  tenant: string | undefined;
  /** The total of all processes, from the store. */
  total: number;
  /** Changes on their way to the store, and newer changes. */
  syncing: number;
  changes: number;
  /** Messages taken by this process and not in the queue yet. */
  admitted: number;
  /** Set while the backlog is full. */
  full: { since: number; refused: number } | undefined;
  /** When the total was read, and when messages were last taken or ended here, by the monotonic clock. */
  readAt: number;
  usedAt: number;
}

/** Returns the backlog of a destination about which nothing is known yet. */
export function emptyBacklog(destination: string, limit: number): DestinationBacklog {
  const now = performance.now();
  const none = { tenant: undefined, total: 0, syncing: 0, changes: 0, admitted: 0, full: undefined };
  return { destination, limit, ...none, readAt: now, usedAt: now };
}

/** Whether there are changes to write, or the total has to be up to date. */
export function isPending(backlog: DestinationBacklog): boolean {
  const { changes, total, limit, full, readAt } = backlog;
  if (changes !== 0 || full !== undefined || total >= limit * WATCHED_SHARE) return true;
  return total >= MANY_WAITING && performance.now() - readAt >= FRESH_FOR;
}

/** Whether the backlog can be forgotten. There may be many destinations, each used only now and then. */
export function isIdle(backlog: DestinationBacklog): boolean {
  const { total, syncing, changes, admitted, full, usedAt } = backlog;
  if (syncing !== 0 || changes !== 0 || admitted !== 0 || full !== undefined) return false;
  if (total === 0) return true;
  return !hasManyWaiting(backlog) && !isPending(backlog) && performance.now() - usedAt >= KEPT_FOR;
}

/** Whether there are so many changes that they are written at once. */
export function hasManyChanges(backlog: DestinationBacklog): boolean {
  const { changes, limit } = backlog;
  const isWatched = waitingIn(backlog) >= limit * WATCHED_SHARE;
  const share = isWatched ? MANY_WATCHED_CHANGES_SHARE : MANY_CHANGES_SHARE;
  return Math.abs(changes) >= Math.max(limit * share, 1);
}

/** Whether so many messages wait for a destination that messages for others may overtake its new ones. */
export function hasManyWaiting(backlog: DestinationBacklog): boolean {
  return waitingIn(backlog) >= MANY_WAITING;
}

/** Returns how many messages wait for a destination, as far as this process knows. */
export function waitingIn({ total, syncing, changes, admitted }: DestinationBacklog): number {
  return Math.max(total + syncing + changes, 0) + admitted;
}

/** Returns what is reported about a full destination. */
export function fullBacklog(
  backlog: DestinationBacklog,
  full: { since: number; refused: number },
): FullBacklog {
  const { destination, limit } = backlog;
  return { destination, limit, waiting: waitingIn(backlog), ...full };
}
