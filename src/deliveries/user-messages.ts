import { setTimeout as sleep } from 'node:timers/promises';
import { openMessages } from '../queue/batch-job.js';
import type { BatchState, BatchStore, StoredJob } from '../queue/batch-store.js';
import { chunksOf } from '../shared/chunks.js';
import { TimeSlice } from '../shared/time-slice.js';
import { ageOf, isFromBefore } from './deleted-users.js';
import { DeletionKeys } from './deletion-key.js';
import { usersOf } from './message-body.js';

/**
 * States in which messages stay for long: put back for a retry, and failed for good. A job that is put back during the
 * search may come where jobs were read already, so `delayed` is searched twice.
 */
const KEPT: readonly BatchState[] = ['delayed', 'failed', 'delayed'];
/** Jobs read at once: the largest hold a megabyte each. */
const PAGE = 10;
/**
 * After some jobs were read, the search pauses for this many times as long, so that others get the database's time. A
 * million jobs take some minutes.
 */
const REST = 3;
/** Longest part of such a pause, in milliseconds: less than a shutdown waits for progress. */
const MAX_SLEEP = 500;
/** Maximum number of jobs whose users are remembered. Jobs beyond that are read for every deletion. */
const MAX_KNOWN_JOBS = 50_000;
/** How often, and for how long, to check whether jobs are still being delivered, in milliseconds. */
const POLL = 250;
const LONGEST_WAIT = 60_000;

/**
 * Finds the messages of users in the jobs that are kept or retried. The first search reads all jobs and
 * remembers their users, at four bytes a user. Later searches read only new jobs, those that hold one of
 * the users, and those beyond what is remembered.
 */
export class UserMessages {
  /** Users of jobs, by job id. A job only ever loses messages, so it cannot gain a user later. */
  private known = new Map<string, Uint32Array>();

  /** @param onRemoved called with the number of messages that no longer wait for a destination */
  constructor(
    private readonly store: Pick<BatchStore, 'ids' | 'read' | 'isActive' | 'removeWhere'>,
    private readonly onRemoved: (destination: string, messages: number) => void,
  ) {}

  /**
   * Removes messages about users that are older than the users' deletion. Messages in jobs that are being delivered are
   * removed as soon as the jobs are put back or kept. Call this once the deletion is stored: jobs that are written
   * later no longer have such messages, so only the present jobs have to be searched.
   *
   * @param deletedAt when each user was deleted, by the deletion's key, in milliseconds since the epoch
   * @param signal ends the search before it is complete
   * @param onProgress called whenever a page of jobs is done
   * @returns whether the search was completed
   */
  async erase(
    deletedAt: ReadonlyMap<string, number>,
    signal: AbortSignal,
    onProgress: () => void = () => undefined,
  ): Promise<boolean> {
    const active = await this.idsOfActive();
    const found = new Map<string, Uint32Array>();
    const search = { deletedAt, found, signal, onProgress };
    for (const state of KEPT) await this.eraseFrom(this.store.ids(state), search, active);
    if (signal.aborted) return false;
    // Jobs that are gone are forgotten.
    this.known = found;
    await this.ended(active, signal);
    await this.eraseFrom([[...active]], search);
    return !signal.aborted;
  }

  /**
   * @param pages ids of jobs
   * @param active receives jobs that a worker has taken meanwhile: they are searched once they have ended. @default
   *   they are looked at now
   */
  private async eraseFrom(
    pages: AsyncIterable<string[]> | Iterable<string[]>,
    { deletedAt, found, signal, onProgress }: Search,
    active?: Set<string>,
  ): Promise<void> {
    const wanted = new Set(Array.from(deletedAt.keys(), shortOf));
    const slice = new TimeSlice();
    let begunAt = performance.now();
    const rest = async (): Promise<void> => {
      const end = performance.now() + REST * (performance.now() - begunAt);
      // Reports progress, so that the pause is not taken for work that stands still. Shutdown ends it.
      const left = (): number => end - performance.now();
      while (left() > 0 && !signal.aborted) {
        onProgress();
        await sleep(Math.min(left(), MAX_SLEEP), undefined, { signal }).catch(() => undefined);
      }
      onProgress();
      begunAt = performance.now();
    };
    for await (const ids of pages) {
      const suspects = ids.filter((id) => {
        const users = found.get(id) ?? this.known.get(id);
        if (users !== undefined) remember(found, id, users);
        return users?.some((user) => wanted.has(user)) ?? true;
      });
      for (const page of chunksOf(suspects, PAGE)) {
        if (signal.aborted) return;
        for (const job of await this.store.read(page)) {
          const users = usersIn(job);
          remember(found, job.jobId, users);
          if (users.some((user) => wanted.has(user))) await this.eraseIn(job, deletedAt, active);
          await slice.check();
        }
        await rest();
      }
      if (signal.aborted) return;
      await rest();
    }
  }

  private async eraseIn(
    { jobId, addedAt, failedAt }: StoredJob,
    deletedAt: ReadonlyMap<string, number>,
    active?: Set<string>,
  ): Promise<void> {
    // The worker of an active job has these messages in hand, and counts those that it does not put back.
    const isActive = failedAt === undefined && (await this.store.isActive(jobId));
    if (isActive && active !== undefined) {
      active.add(jobId);
      return;
    }
    const removed = await this.store.removeWhere(jobId, (message, { source, firstAttemptAt = addedAt }) =>
      isFromBefore(ageOf(message, new DeletionKeys(source)), Math.min(addedAt, firstAttemptAt), deletedAt),
    );
    if (failedAt !== undefined || isActive) return;
    for (const batch of removed) this.onRemoved(batch.destination, openMessages(batch).length);
  }

  /** Waits until none of these jobs is being delivered. */
  private async ended(jobs: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const giveUpAt = performance.now() + LONGEST_WAIT;
    while (jobs.size > 0 && !signal.aborted && performance.now() < giveUpAt) {
      const active = await this.idsOfActive();
      if (![...active].some((id) => jobs.has(id))) return;
      await new Promise((resolve) => setTimeout(resolve, POLL));
    }
  }

  private async idsOfActive(): Promise<Set<string>> {
    const active = new Set<string>();
    for await (const ids of this.store.ids('active')) for (const id of ids) active.add(id);
    return active;
  }
}

interface Search {
  /** As in `erase`. */
  deletedAt: ReadonlyMap<string, number>;
  /** Receives the users of the jobs that are read. */
  found: Map<string, Uint32Array>;
  signal: AbortSignal;
  onProgress: () => void;
}

function usersIn({ batches }: StoredJob): Uint32Array {
  const users = new Set<number>();
  for (const { messages } of batches) {
    for (const { body } of messages) for (const key of usersOf(body).keys) users.add(shortOf(key));
  }
  return Uint32Array.from(users);
}

function remember(found: Map<string, Uint32Array>, jobId: string, users: Uint32Array): void {
  if (found.size < MAX_KNOWN_JOBS) found.set(jobId, users);
}

/** Returns four bytes of a user's key, which tell nearly all users apart. A false match only costs a needless read. */
function shortOf(key: string): number {
  return Buffer.from(key.slice(0, 6), 'base64url').readUInt32BE(0);
}
