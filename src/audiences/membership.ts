import { isBlank } from '../messages/value-kind.js';
import { type Announcement, AudienceCalls, type IdentifyTaker } from './audience-calls.js';
import type { AudienceLock } from './audience-lock.js';
import type { AudienceDefinition, AudienceStore } from '../options/audience-store.js';
import { TimeSlice } from '../shared/time-slice.js';
import { withinUnlessIdle } from '../shared/within.js';
import { refuseOther } from './audience-definition.js';
import type { ChangeSteps } from './change-steps.js';
import { PassedPages } from './passed-pages.js';
import { entryChunks, type EntryChunk, type TraitEntries } from './trait-entries.js';

/** Users per step: few enough to fit in memory and to let other changes in soon, and enough for full batches. */
const STEP_SIZE = 1_000;

/** Milliseconds after which it is known whether a tenant can be looked up, unless the queue cannot be reached. */
const LOOKUP_TIME = 5_000;

/** The result of a sync, in users. */
export interface MembershipCounts {
  /** Users who got a new value. */
  changed: number;
  /** Users who lost their value. */
  removed: number;
  unchanged: number;
}

interface SyncRun extends Announcement {
  /** Longest wait for another sync, in milliseconds. */
  wait: number;
  onProgress: (counts: MembershipCounts) => unknown;
}

/** Result of announcing a page of leaving users. */
interface LeavingPage {
  /** Pages since the last page on which a user was removed. */
  passed: PassedPages;
  removed: number;
  /** Where the next page begins; `undefined` after the last page. */
  next: string | undefined;
}

/**
 * Sends changes, and records them. Each step marks its users as in doubt, hands their calls to the queue,
 * and then settles them. A user is recorded only once the queue has the call. If a process dies in between, or the
 * call is refused, the next step that involves this user sends the call again. If no destination would get the calls,
 * nothing is done at all, so that they can be sent later, and a change that loses its last destination ends there. If
 * destinations depend on the user, a user whose call no destination would get is not recorded.
 */
export class Membership {
  constructor(
    private readonly store: AudienceStore,
    private readonly steps: ChangeSteps,
    private readonly client: IdentifyTaker,
    private readonly stepSize = STEP_SIZE,
  ) {}

  /** Sets the record to exactly these entries. */
  async sync(
    audience: AudienceDefinition,
    entries: TraitEntries,
    { wait, onProgress, ...to }: SyncRun,
  ): Promise<MembershipCounts> {
    const counts: MembershipCounts = { changed: 0, removed: 0, unchanged: 0 };
    const calls = new AudienceCalls(this.client, audience.trait, to);
    const reaches = calls.mayReach();
    if (reaches === false) return counts;
    return this.steps.runSync(audience, wait, async (syncLock) => {
      if (!calls.asKnown(await reaches)) return counts;
      const slice = new TimeSlice();
      await this.register(audience);
      await this.steps.run(audience, (lock) => this.store.advance(lock));
      for await (const chunk of entryChunks(entries, this.stepSize)) {
        syncLock.assertHeld();
        const { changed, unchanged } = await this.steps.run(audience, (lock) =>
          this.offer(lock, chunk, calls),
        );
        counts.changed += changed;
        counts.unchanged += unchanged;
        await onProgress({ ...counts });
        if (calls.reachNobody) break;
        await slice.check();
      }
      let page: LeavingPage | undefined;
      while (!calls.reachNobody && (page === undefined || page.next !== undefined)) {
        syncLock.assertHeld();
        page = await this.steps.run(audience, (lock) => this.withdrawUnseen(lock, audience, calls, page));
        counts.removed += page.removed;
        if (page.removed > 0) await onProgress({ ...counts });
        await slice.check();
      }
      calls.assertNoneRefused();
      return counts;
    });
  }

  /** Resolves to whether this was a change. */
  add(audience: AudienceDefinition, userId: string, to: Announcement, wait: number): Promise<boolean> {
    const chunk: EntryChunk = new Map([[userId, { value: true, fingerprint: 'true' }]]);
    return this.changeOne(audience, userId, to, wait, async (lock, calls) => {
      await this.register(audience);
      return (await this.offer(lock, chunk, calls)).changed > 0;
    });
  }

  /** Resolves to whether this was a change. */
  remove(audience: AudienceDefinition, userId: string, to: Announcement, wait: number): Promise<boolean> {
    return this.changeOne(audience, userId, to, wait, async (lock, calls) => {
      const known = await this.store.withdraw(lock, [userId]);
      return (await this.announce(lock, calls, audience, known)) > 0;
    });
  }

  /** Deletes an audience, and notifies each of its users first if requested. */
  async delete(audience: AudienceDefinition, to: Announcement | undefined, wait: number): Promise<void> {
    const calls = to && new AudienceCalls(this.client, audience.trait, to);
    const reaches = calls?.mayReach();
    if (reaches === false) return;
    await this.steps.runSync(audience, wait, async (syncLock) => {
      if (calls !== undefined && !calls.asKnown(await reaches)) return;
      const slice = new TimeSlice();
      let page: LeavingPage | undefined;
      let found = 0;
      let isLeft = true;
      while (isLeft) {
        await slice.check();
        syncLock.assertHeld();
        isLeft = await this.steps.run(audience, async (lock) => {
          if (calls !== undefined) {
            // Others may add users until the last step, so passes are repeated until a pass finds no users.
            if (page?.next === undefined) {
              await this.store.advance(lock);
              page = undefined;
              found = 0;
            }
            page = await this.withdrawUnseen(lock, audience, calls, page);
            found += page.removed;
            if (page.next !== undefined && !calls.reachNobody) return true;
            calls.assertNoneRefused();
            if (calls.reachNobody) return false;
            if (found > 0) return true;
          }
          await this.store.drop(lock);
          return false;
        });
      }
    });
  }

  /**
   * Removes deleted users from an audience without sending anything.
   *
   * @param wait @default a minute
   */
  async forget(audience: AudienceDefinition, userIds: readonly string[], wait?: number): Promise<void> {
    await this.steps.run(audience, (lock) => this.drop(lock, userIds), { wait });
  }

  /** Puts in doubt users who may have to be forgotten. Waits as `forget` does. Resolves to those who are members. */
  async doubt(audience: AudienceDefinition, userIds: readonly string[], wait?: number): Promise<string[]> {
    return this.steps.run(audience, (lock) => this.store.withdraw(lock, userIds), { wait });
  }

  private async drop(lock: AudienceLock, userIds: readonly string[]): Promise<void> {
    await this.store.settle(lock, await this.store.withdraw(lock, userIds));
  }

  private async register(audience: AudienceDefinition): Promise<void> {
    const owner = await this.store.register(audience);
    refuseOther(audience, owner);
  }

  /**
   * Makes a change of one user. A slow look-up must not hold up other changes, so it is awaited before the change takes
   * its turn. While the queue cannot be reached, one change waits for its look-up in its turn, and others are refused.
   */
  private async changeOne(
    audience: AudienceDefinition,
    userId: string,
    to: Announcement,
    wait: number,
    change: (lock: AudienceLock, calls: AudienceCalls) => Promise<boolean>,
  ): Promise<boolean> {
    let since = performance.now();
    const calls = new AudienceCalls(this.client, audience.trait, to);
    const reaches = calls.reachFor(userId);
    const isReached = Promise.resolve(reaches).then((reach) => calls.asKnown(reach));
    // Changes whose destinations are known stay in the order in which they were called.
    if (reaches === false) return false;
    if (reaches !== true) {
      const isTaken = await withinUnlessIdle(Math.max(wait, LOOKUP_TIME), isReached);
      if (isTaken === false) return false;
      // `wait` limits only the wait for other changes.
      if (isTaken === true) since = performance.now();
    }
    const changeInTurn = async (lock: AudienceLock): Promise<boolean> =>
      (await isReached) && change(lock, calls);
    const isChange = await this.steps.run(audience, changeInTurn, { wait, since });
    calls.assertNoneRefused();
    return isChange;
  }

  private async offer(
    lock: AudienceLock,
    chunk: EntryChunk,
    calls: AudienceCalls,
  ): Promise<{ changed: number; unchanged: number }> {
    const entries = Array.from(chunk, ([userId, { fingerprint }]) => ({ userId, value: fingerprint }));
    const { changed, unchanged } = await this.store.offer(lock, entries);
    const { told, unreached } = await calls.tell(lock, changed, (userId) => chunk.get(userId)?.value);
    // These users become unknown again, as if no destination took any call. The next sync offers them once more.
    if (unreached.length > 0) await this.drop(lock, unreached);
    if (told.length > 0) await this.store.settle(lock, told);
    return { changed: told.length, unchanged };
  }

  private async withdrawUnseen(
    lock: AudienceLock,
    audience: AudienceDefinition,
    calls: AudienceCalls,
    last: LeavingPage | undefined,
  ): Promise<LeavingPage> {
    const { userIds, next } = await this.store.withdrawUnseen(lock, this.stepSize, last?.next);
    const [first] = userIds;
    const removed = await this.announce(lock, calls, audience, userIds);
    const passed = last === undefined || removed > 0 ? new PassedPages() : last.passed;
    // A store that was written for version 0.1.0 may return users again until they are settled.
    const isRepeated = removed === 0 && first !== undefined && passed.comesAgain(first);
    return { passed, removed, next: isRepeated ? undefined : next };
  }

  /** Announces that users have left, and records it. Resolves to the number of removed users. */
  private async announce(
    lock: AudienceLock,
    calls: AudienceCalls,
    { kind }: AudienceDefinition,
    left: readonly string[],
  ): Promise<number> {
    if (left.length === 0) return 0;
    const value = kind === 'audience' ? false : null;
    // Version 0.1.0 accepted blank ids. No call can be made about such a user any more.
    const untellable = left.filter((userId) => isBlank(userId));
    const tellable = untellable.length === 0 ? left : left.filter((userId) => !isBlank(userId));
    const { told, unreached } = await calls.tell(lock, tellable, () => value);
    const gone = [...untellable, ...unreached, ...told];
    if (gone.length > 0) await this.store.settle(lock, gone);
    return gone.length;
  }
}
