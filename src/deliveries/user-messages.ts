import { openMessages } from '../queue/batch-job.js';
import type { BatchState, BatchStore, StoredJob } from '../queue/batch-store.js';
import { TimeSlice } from '../shared/time-slice.js';
import { ageOf, isFromBefore } from './deleted-users.js';
import { DeletionKeys } from './deletion-key.js';
import { usersOf } from './message-body.js';

/** States in which messages stay for long: put back for a retry, and failed for good. */
const KEPT: readonly BatchState[] = ['delayed', 'failed'];
/** Jobs read at once: the largest hold half a megabyte each. */
const PAGE = 10;
/** Jobs whose users are remembered. Jobs beyond that are read for every deletion. */
const MAX_KNOWN_JOBS = 50_000;
/** How often, and for how long, to check whether jobs are still being delivered, in milliseconds. */
const POLL = 250;
const LONGEST_WAIT = 60_000;

/**
 * Finds the messages of users in the jobs that are kept or retried. The first search reads all jobs and
 * remembers their users, at four bytes a user. Later searches read only new jobs and those that hold one of
 * the users.
 */
export class UserMessages {
  /** By job id. A job only ever loses messages, so it cannot gain a user later. */
  private known = new Map<string, Uint32Array>();

  /** @param onRemoved called with the messages that wait no longer for a destination */
  constructor(
    private readonly store: Pick<BatchStore, 'ids' | 'read' | 'removeWhere'>,
    private readonly onRemoved: (destination: string, messages: number) => void,
  ) {}

  /**
   * Removes the messages about users from before their deletion, also from jobs that are being delivered
   * as soon as they are put back or kept. Call it once the deletion is stored: jobs that are written later do
   * not have such messages any more, so each job that is there now is looked at once.
   *
   * @param deletedAt when each was deleted, by the deletion's key, in milliseconds since the epoch
   * @param signal ends the search; it is not complete then
   * @returns whether it was completed
   */
  async erase(deletedAt: ReadonlyMap<string, number>, signal: AbortSignal): Promise<boolean> {
    const active = new Set(await this.store.ids('active'));
    const kept = new Set<string>();
    for (const state of KEPT) for (const id of await this.store.ids(state)) kept.add(id);
    await this.eraseFrom(kept, deletedAt, signal);
    if (signal.aborted) return false;
    this.forgetAllBut(kept);
    await this.ended(active, signal);
    await this.eraseFrom(active, deletedAt, signal);
    return !signal.aborted;
  }

  private async eraseFrom(
    ids: Iterable<string>,
    deletedAt: ReadonlyMap<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = new Set(Array.from(deletedAt.keys(), shortOf));
    const slice = new TimeSlice();
    const suspects: string[] = [];
    for (const id of ids) {
      if (this.known.get(id)?.some((user) => wanted.has(user)) ?? true) suspects.push(id);
      if (slice.isOver) await slice.pause();
    }
    for (let start = 0; start < suspects.length && !signal.aborted; start += PAGE) {
      for (const job of await this.store.read(suspects.slice(start, start + PAGE))) {
        if (this.remember(job).some((user) => wanted.has(user))) await this.eraseIn(job, deletedAt);
        await slice.check();
      }
    }
  }

  private async eraseIn(
    { jobId, addedAt, failedAt }: StoredJob,
    deletedAt: ReadonlyMap<string, number>,
  ): Promise<void> {
    const removed = await this.store.removeWhere(jobId, (message, { source, firstAttemptAt = addedAt }) =>
      isFromBefore(ageOf(message, new DeletionKeys(source)), Math.min(addedAt, firstAttemptAt), deletedAt),
    );
    if (failedAt !== undefined) return;
    for (const batch of removed) this.onRemoved(batch.destination, openMessages(batch).length);
  }

  private remember({ jobId, batches }: StoredJob): Uint32Array {
    const users = new Set<number>();
    for (const { messages } of batches) {
      for (const { body } of messages) for (const key of usersOf(body).keys) users.add(shortOf(key));
    }
    const short = Uint32Array.from(users);
    if (this.known.size < MAX_KNOWN_JOBS) this.known.set(jobId, short);
    return short;
  }

  private forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.known.keys()) if (!ids.has(id)) this.known.delete(id);
  }

  /** Waits until none of these jobs is being delivered. */
  private async ended(jobs: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const giveUpAt = performance.now() + LONGEST_WAIT;
    while (jobs.size > 0 && !signal.aborted && performance.now() < giveUpAt) {
      const active = await this.store.ids('active');
      if (!active.some((id) => jobs.has(id))) return;
      await new Promise((resolve) => setTimeout(resolve, POLL));
    }
  }
}

/** Four bytes of a user's key tell nearly all apart. A false match only costs a needless read. */
function shortOf(key: string): number {
  return Buffer.from(key.slice(0, 6), 'base64url').readUInt32BE(0);
}
