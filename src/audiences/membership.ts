import type { AnalyticsClient } from '../client/analytics-client.js';
import { AudienceNameTakenError } from '../errors/audience-name-taken.error.js';
import type { IdentifyParams } from '../messages/message-params.types.js';
import type { Integrations } from '../messages/message.types.js';
import type { AudienceLock } from './audience-lock.js';
import type { AudienceDefinition, AudienceStore } from './audience-store.js';
import type { ChangeSteps } from './change-steps.js';
import { entryChunks, type EntryChunk, type TraitEntry } from './entry-chunks.js';

/** Users in one step: few enough to be held in memory and to let others in soon, enough for full batches. */
const STEP_SIZE = 1_000;

/** Where the calls of a change go. */
export interface Announcement {
  /** Name of the source. */
  source: string;
  integrations: Integrations | undefined;
}

/** What a sync came to, in users. */
export interface MembershipCounts {
  /** Got a value that they did not have. */
  changed: number;
  /** Lost theirs. */
  removed: number;
  unchanged: number;
}

interface SyncRun extends Announcement {
  /** The longest to wait for another sync, in milliseconds. */
  wait: number;
  onProgress: (counts: MembershipCounts) => void;
}

type IdentifyTaker = Pick<AnalyticsClient, 'takeAll'>;

/**
 * Says what changes, and records it. Each step puts its users in doubt, hands their calls to the queue,
 * and settles them: a user is recorded no earlier than the queue has the call, and where a process dies
 * in between, the next one that has to do with this user says it again.
 */
export class Membership {
  constructor(
    private readonly store: AudienceStore,
    private readonly steps: ChangeSteps,
    private readonly client: IdentifyTaker,
    private readonly stepSize = STEP_SIZE,
  ) {}

  /** Brings the record to exactly these entries. */
  sync(
    audience: AudienceDefinition,
    entries: Iterable<TraitEntry> | AsyncIterable<TraitEntry>,
    { wait, onProgress, ...to }: SyncRun,
  ): Promise<MembershipCounts> {
    return this.steps.runSync(audience, wait, async (syncLock) => {
      const counts: MembershipCounts = { changed: 0, removed: 0, unchanged: 0 };
      await this.register(audience);
      await this.steps.run(audience, (lock) => this.store.advance(lock));
      for await (const chunk of entryChunks(entries, this.stepSize)) {
        syncLock.assertHeld();
        const { changed, unchanged } = await this.steps.run(audience, (lock) => this.offer(lock, chunk, to));
        counts.changed += changed;
        counts.unchanged += unchanged;
        onProgress({ ...counts });
      }
      let from: string | undefined;
      do {
        syncLock.assertHeld();
        const page = await this.steps.run(audience, (lock) => this.withdrawUnseen(lock, audience, to, from));
        from = page.next;
        counts.removed += page.removed;
        if (page.removed > 0) onProgress({ ...counts });
      } while (from !== undefined);
      return counts;
    });
  }

  /** Resolves to whether that was a change. */
  async add(audience: AudienceDefinition, userId: string, to: Announcement, wait: number): Promise<boolean> {
    const chunk: EntryChunk = new Map([[userId, { value: true, fingerprint: 'true' }]]);
    const add = async (lock: AudienceLock): Promise<boolean> => {
      await this.register(audience);
      return (await this.offer(lock, chunk, to)).changed > 0;
    };
    return this.steps.run(audience, add, wait);
  }

  /** Resolves to whether that was a change. */
  async remove(
    audience: AudienceDefinition,
    userId: string,
    to: Announcement,
    wait: number,
  ): Promise<boolean> {
    const remove = async (lock: AudienceLock): Promise<boolean> => {
      const known = await this.store.withdraw(lock, [userId]);
      await this.announce(lock, to, audience, known);
      return known.length > 0;
    };
    return this.steps.run(audience, remove, wait);
  }

  /** Forgets an audience, and first says so of each of its users when that is wanted. */
  async delete(audience: AudienceDefinition, to: Announcement | undefined, wait: number): Promise<void> {
    await this.steps.runSync(audience, wait, async (syncLock) => {
      let isLeft = true;
      while (isLeft) {
        syncLock.assertHeld();
        isLeft = await this.steps.run(audience, async (lock) => {
          if (to !== undefined) {
            // Others may add users until the last step, so each step begins by having seen nobody.
            await this.store.advance(lock);
            if ((await this.withdrawUnseen(lock, audience, to)).removed > 0) return true;
          }
          await this.store.drop(lock);
          return false;
        });
      }
    });
  }

  private async register(audience: AudienceDefinition): Promise<void> {
    const owner = await this.store.register(audience);
    refuseOther(audience, owner);
  }

  private async offer(
    lock: AudienceLock,
    chunk: EntryChunk,
    to: Announcement,
  ): Promise<{ changed: number; unchanged: number }> {
    const entries = Array.from(chunk, ([userId, { fingerprint }]) => ({ userId, value: fingerprint }));
    const { changed, unchanged } = await this.store.offer(lock, entries);
    if (changed.length > 0) {
      await this.say(lock, to, changed, (userId) => chunk.get(userId)?.value);
      await this.store.settle(lock, changed);
    }
    return { changed: changed.length, unchanged };
  }

  private async withdrawUnseen(
    lock: AudienceLock,
    audience: AudienceDefinition,
    to: Announcement,
    from?: string,
  ): Promise<{ removed: number; next: string | undefined }> {
    const { userIds, next } = await this.store.withdrawUnseen(lock, this.stepSize, from);
    await this.announce(lock, to, audience, userIds);
    return { removed: userIds.length, next };
  }

  /** Says of users that they have left, and records it. */
  private async announce(
    lock: AudienceLock,
    to: Announcement,
    { kind }: AudienceDefinition,
    left: readonly string[],
  ): Promise<void> {
    if (left.length === 0) return;
    const value = kind === 'audience' ? false : null;
    await this.say(lock, to, left, () => value);
    await this.store.settle(lock, left);
  }

  /** Resolves when the calls are in the queue. */
  private say(
    lock: AudienceLock,
    { source, integrations }: Announcement,
    userIds: readonly string[],
    valueOf: (userId: string) => unknown,
  ): Promise<void> {
    function* calls(): Generator<IdentifyParams, void> {
      for (const userId of userIds) {
        // Without the lock somebody else may have said something newer of this user.
        lock.assertHeld();
        yield { userId, traits: { [lock.trait]: valueOf(userId) }, integrations };
      }
    }
    return this.client.takeAll(source, 'identify', calls());
  }
}

/** @throws AudienceNameTakenError when what is registered under the trait is not what is meant */
export function refuseOther(audience: AudienceDefinition, owner: AudienceDefinition): void {
  if (owner.name === audience.name && owner.kind === audience.kind) return;
  throw new AudienceNameTakenError(audience.name, audience.trait, owner);
}
