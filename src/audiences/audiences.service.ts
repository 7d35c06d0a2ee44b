import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import { UnknownSourceError } from '../errors/message.errors.js';
import type { AudienceDefinition, AudienceKind, AudienceStore } from '../options/audience-store.js';
import { TimeSlice } from '../shared/time-slice.js';
import { definitionOf, refuseOther, traitOf } from './audience-definition.js';
import type {
  AudienceCallOptions,
  AudienceDeleteOptions,
  AudienceSyncOptions,
  AudienceSyncResult,
  TraitSyncOptions,
  TraitSyncResult,
} from './audiences.types.js';
import { checkedOptions } from './call-check.js';
import type { Announcement } from './audience-calls.js';
import type { Membership } from './membership.js';
import type { RunningChanges } from './running-changes.js';
import { checkIterable, checkUserId, type TraitEntries, trueForEach } from './trait-entries.js';

/** How long a change waits for others of the same audience by default, in milliseconds. */
const DEFAULT_WAIT = 30_000;
const PAGE_SIZE = 1_000;

export interface AudiencesServiceOptions {
  /** Names of the application's sources. Calls come from the first source unless a source is named. */
  sources: readonly [string, ...string[]];
  /** Default source and destinations of the calls. */
  defaults: { source?: string | undefined; integrations?: Announcement['integrations'] };
  /** How long a shutdown waits for syncs that it has stopped, in milliseconds. */
  patience: number;
  running: RunningChanges;
}

/**
 * Audiences: sets of users that the application computes. Each change of membership becomes an identify call:
 * `{ big_spenders: true }` for a user who joined, `false` for one who left. A user is recorded as a member
 * once that call is in the queue. If the process dies in between, the next change repeats the call.
 *
 * If no destination would get the calls (the module or all destinations are disabled, or `integrations`
 * excludes them all), nothing is sent and nothing is recorded. The next change that reaches a destination
 * sends everything. A sync or deletion that loses its last destination ends there, and the next run sends the
 * rest. If `destinations.tenant` depends on the user, this applies to each user separately.
 *
 * A call is refused if its destination is full, if its tenant cannot be looked up within 2 seconds although others
 * can be, or if `destinations.tenant` or `beforeSend` throws. The record of such a user does not change, and all other
 * calls are made. The next change of this user makes the call.
 *
 * Every method rejects with `InvalidAudienceNameError` for a name that cannot become a property, with
 * `AudienceNameTakenError` for a name whose property belongs to another audience, and with
 * `AnalyticsClosedError` once the application has shut down. Unknown options, and options with a wrong value, are
 * refused with `InvalidMessageError`.
 */
export class AudiencesService implements BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(
    private readonly store: AudienceStore,
    private readonly membership: Membership,
    private readonly options: AudiencesServiceOptions,
  ) {}

  /**
   * Sets the members of an audience to exactly these users. The first sync sends a call for every user. A later
   * sync sends calls only for users whose membership changed. The ids are streamed: a thousand are held at a time.
   *
   * A sync that fails, or whose process dies, may be run again, with the same members or newer members. A
   * change made by `add` or `remove` during the sync stays, unless the stream reaches that user later.
   *
   * @param members ids of all users in the audience; duplicates count once
   * @throws AudienceBusyError if another sync of the audience does not end within `wait`, or a single change does not
   *   end within a minute
   * @throws AudienceLockLostError, InvalidMessageError, AnalyticsClosedError; all changes made before stay recorded
   * @throws MessageRefusedError, MessageTooLargeError, EventViolationError for refused calls, after all other calls
   *   have been made; earlier if all calls go to the same destinations and none gets through
   */
  async sync(
    name: string,
    members: Iterable<string> | AsyncIterable<string>,
    options: AudienceSyncOptions = {},
  ): Promise<AudienceSyncResult> {
    checkIterable('members', members);
    const { wait = DEFAULT_WAIT, onProgress, ...to } = checkedOptions(options, 'sync');
    const announcement = this.announcement(to);
    const { changed, ...others } = await this.options.running.run(
      this.membership.sync(definitionOf(name, 'audience', announcement.source), trueForEach(members), {
        ...announcement,
        wait,
        onProgress: (counts) => onProgress?.({ added: counts.changed, ...withoutChanged(counts) }),
      }),
    );
    return { added: changed, ...others };
  }

  /**
   * Sets a computed trait to exactly these values. Sends a call for each user whose value changed, and a call
   * with `null` for each user who no longer has a value. A value is anything that JSON can hold; `null` means
   * no value. Values are equal if their JSON is equal, whatever the order of keys.
   *
   * @param entries user ids and their values, such as a `Map`; the first entry of a user counts
   * @throws as `sync`
   */
  async syncTrait(
    name: string,
    entries: TraitEntries,
    options: TraitSyncOptions = {},
  ): Promise<TraitSyncResult> {
    checkIterable('entries', entries);
    const { wait = DEFAULT_WAIT, onProgress = () => undefined, ...to } = checkedOptions(options, 'syncTrait');
    const announcement = this.announcement(to);
    return this.options.running.run(
      this.membership.sync(definitionOf(name, 'trait', announcement.source), entries, {
        ...announcement,
        wait,
        onProgress,
      }),
    );
  }

  /**
   * Adds one user to an audience, even while it is being synced.
   *
   * @returns whether the user was not in the audience before
   * @throws AudienceBusyError if this call does not get its turn within `wait`; the change is not made later either
   * @throws otherwise as `sync`
   */
  async add(name: string, userId: string, options: AudienceCallOptions = {}): Promise<boolean> {
    checkUserId(userId);
    const { wait = DEFAULT_WAIT, ...to } = checkedOptions(options, 'add');
    const announcement = this.announcement(to);
    const audience = definitionOf(name, 'audience', announcement.source);
    return this.options.running.run(this.membership.add(audience, userId, announcement, wait));
  }

  /**
   * Removes one user from an audience, even while it is being synced.
   *
   * @returns whether the user was in the audience before
   * @throws as `add`
   */
  async remove(name: string, userId: string, options: AudienceCallOptions = {}): Promise<boolean> {
    checkUserId(userId);
    const { wait = DEFAULT_WAIT, ...to } = checkedOptions(options, 'remove');
    const audience = await this.find(name, 'audience');
    if (audience === undefined) return false;
    return this.options.running.run(this.membership.remove(audience, userId, this.announcement(to), wait));
  }

  /**
   * Yields the ids of all users in an audience or with a computed trait, in no particular order. If the
   * membership changes while you read, an id may appear twice or not at all.
   */
  async *members(name: string): AsyncGenerator<string, void> {
    const audience = await this.find(name);
    if (audience === undefined) return;
    const slice = new TimeSlice();
    let from: string | undefined;
    do {
      this.options.running.assertOpen();
      const page = await this.store.members(audience.trait, PAGE_SIZE, from);
      for (const userId of page.userIds) {
        if (slice.isOver) await slice.pause();
        yield userId;
      }
      from = page.next;
    } while (from !== undefined);
  }

  /**
   * Deletes an audience or a computed trait. Does nothing if none has this name. First sends `false` or `null`
   * for each of its users, unless `notify` is `false`. If no destination would get these calls, the audience
   * is kept, so that they can be sent later.
   *
   * @throws as `sync`
   */
  async delete(name: string, options: AudienceDeleteOptions = {}): Promise<void> {
    const { wait = DEFAULT_WAIT, notify = true, ...to } = checkedOptions(options, 'delete');
    const audience = await this.find(name);
    if (audience === undefined) return;
    const announcement = this.announcement(to);
    await this.options.running.run(this.membership.delete(audience, notify ? announcement : undefined, wait));
  }

  /** Resolves to all audiences and computed traits, sorted by the property that they are sent as. */
  async list(): Promise<AudienceDefinition[]> {
    this.options.running.assertOpen();
    const definitions = await this.store.list();
    return definitions.sort((a, b) => (a.trait < b.trait ? -1 : 1));
  }

  /** Stops the running syncs, each after its current step: the queue is about to be closed. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.options.running.stop(this.options.patience);
  }

  onApplicationShutdown(): void {
    this.options.running.close();
  }

  private async find(name: string, kind?: AudienceKind): Promise<AudienceDefinition | undefined> {
    this.options.running.assertOpen();
    const trait = traitOf(name);
    const found = await this.store.find(trait);
    if (found !== undefined) refuseOther({ trait, name, kind: kind ?? found.kind }, found);
    return found;
  }

  private announcement({ source, integrations }: Partial<Announcement>): Announcement {
    this.options.running.assertOpen();
    const { sources, defaults } = this.options;
    const name = source ?? defaults.source ?? sources[0];
    if (!sources.includes(name)) throw new UnknownSourceError(name, sources);
    return { source: name, integrations: integrations ?? defaults.integrations };
  }
}

function withoutChanged({ removed, unchanged }: TraitSyncResult): Omit<TraitSyncResult, 'changed'> {
  return { removed, unchanged };
}
