import type { BeforeApplicationShutdown } from '@nestjs/common';
import { AnalyticsClosedError } from '../errors/analytics-closed.error.js';
import { UnknownSourceError } from '../errors/unknown-source.error.js';
import { within } from '../time/within.js';
import { traitOf } from './audience-name.js';
import type { AudienceDefinition, AudienceKind, AudienceStore } from './audience-store.js';
import type {
  AudienceCallOptions,
  AudienceDeleteOptions,
  AudienceSyncOptions,
  AudienceSyncResult,
  TraitSyncOptions,
  TraitSyncResult,
} from './audiences.types.js';
import { type Announcement, type Membership, refuseOther } from './membership.js';
import { trueForEach } from './member-entries.js';
import type { TraitEntry } from './entry-chunks.js';
import { checkUserId } from './user-id.js';

/** How long a change waits for another sync of the same audience, unless it is told otherwise. */
const DEFAULT_WAIT = 30_000;
const PAGE_SIZE = 1_000;

export interface AudiencesServiceOptions {
  /** Names of the sources of this application; the first speaks where none is named. */
  sources: readonly [string, ...string[]];
  /** Where the calls go unless a call says otherwise. */
  defaults: { source?: string | undefined; integrations?: Announcement['integrations'] };
  /** How long a shutdown waits for syncs that it has stopped, in milliseconds. */
  patience: number;
  /** Stops syncs, those that are running and those that come later. */
  stop: AbortController;
}

/**
 * Audiences: sets of users that the application computes. Each change of membership becomes an identify
 * call: `{ big_spenders: true }` for a user who came, `false` for one who went. A user is recorded as a
 * member once that call is in the queue, and what a crash leaves open is said again by the next change.
 *
 * Every method rejects with `InvalidAudienceNameError` for a name that no property can be made of, and
 * with `AudienceNameTakenError` for one whose property is another's.
 */
export class AudiencesService implements BeforeApplicationShutdown {
  private readonly running = new Set<Promise<unknown>>();

  constructor(
    private readonly store: AudienceStore,
    private readonly membership: Membership,
    private readonly options: AudiencesServiceOptions,
  ) {}

  /**
   * Brings an audience to exactly these members. The first sync sends a call for every user, a later one
   * for those whose membership changed. The ids are streamed: a thousand of them are held at a time.
   *
   * A sync that fails, or whose process dies, may be run again, with the same members or with newer ones.
   * A user who is added or removed by `add` and `remove` meanwhile keeps that, unless the stream comes to
   * the user later.
   *
   * @param members ids of all users in it; one that comes twice counts once
   * @throws AudienceBusyError when another sync of it did not end within `wait`
   * @throws AudienceLockLostError, InvalidMessageError, MessageRefusedError, AnalyticsClosedError; what was
   *   done until then is recorded
   */
  async sync(
    name: string,
    members: Iterable<string> | AsyncIterable<string>,
    { wait = DEFAULT_WAIT, onProgress, ...to }: AudienceSyncOptions = {},
  ): Promise<AudienceSyncResult> {
    const { changed, ...others } = await this.run(
      this.membership.sync(definitionOf(name, 'audience'), trueForEach(members), {
        ...this.announcement(to),
        wait,
        onProgress: (counts) => onProgress?.({ added: counts.changed, ...withoutChanged(counts) }),
      }),
    );
    return { added: changed, ...others };
  }

  /**
   * Brings a computed trait to exactly these values: a call for each user whose value changed, and one
   * with `null` for each who has none any more. A value is anything that JSON holds; `null` stands for
   * none. Values are equal when their JSON is, whatever the order of keys.
   *
   * @param entries user ids and their values, such as a `Map`; the first of a user counts
   * @throws as `sync`
   */
  async syncTrait(
    name: string,
    entries: Iterable<TraitEntry> | AsyncIterable<TraitEntry>,
    { wait = DEFAULT_WAIT, onProgress = () => undefined, ...to }: TraitSyncOptions = {},
  ): Promise<TraitSyncResult> {
    return this.run(
      this.membership.sync(definitionOf(name, 'trait'), entries, {
        ...this.announcement(to),
        wait,
        onProgress,
      }),
    );
  }

  /**
   * Adds one user to an audience, also while it is being synced.
   *
   * @returns whether the user was not in it before
   * @throws as `sync`
   */
  async add(
    name: string,
    userId: string,
    { wait = DEFAULT_WAIT, ...to }: AudienceCallOptions = {},
  ): Promise<boolean> {
    checkUserId(userId);
    const audience = definitionOf(name, 'audience');
    return this.run(this.membership.add(audience, userId, this.announcement(to), wait));
  }

  /**
   * Removes one user from an audience, also while it is being synced.
   *
   * @returns whether the user was in it before
   * @throws as `sync`
   */
  async remove(
    name: string,
    userId: string,
    { wait = DEFAULT_WAIT, ...to }: AudienceCallOptions = {},
  ): Promise<boolean> {
    checkUserId(userId);
    const audience = await this.find(name, 'audience');
    if (audience === undefined) return false;
    return this.run(this.membership.remove(audience, userId, this.announcement(to), wait));
  }

  /**
   * The ids of all users in an audience, or with a computed trait, in no particular order. One may come
   * twice, or not at all, if it changes meanwhile.
   */
  async *members(name: string): AsyncGenerator<string, void> {
    const audience = await this.find(name);
    if (audience === undefined) return;
    let from: string | undefined;
    do {
      const page = await this.store.members(audience.trait, PAGE_SIZE, from);
      yield* page.userIds;
      from = page.next;
    } while (from !== undefined);
  }

  /**
   * Forgets an audience or a computed trait; does nothing when there is none of that name. Its users are
   * told first, with `false` or `null`, unless `notify` is `false`.
   *
   * @throws as `sync`
   */
  async delete(
    name: string,
    { wait = DEFAULT_WAIT, notify = true, ...to }: AudienceDeleteOptions = {},
  ): Promise<void> {
    const audience = await this.find(name);
    if (audience === undefined) return;
    const announcement = this.announcement(to);
    await this.run(this.membership.delete(audience, notify ? announcement : undefined, wait));
  }

  /** All audiences and computed traits, by the property that they are sent as. */
  async list(): Promise<AudienceDefinition[]> {
    const definitions = await this.store.list();
    return definitions.sort((a, b) => (a.trait < b.trait ? -1 : 1));
  }

  /** Stops the syncs that are running, each after its current step: the queue is about to be closed. */
  async beforeApplicationShutdown(): Promise<void> {
    this.options.stop.abort(new AnalyticsClosedError());
    await within(this.options.patience, Promise.allSettled(this.running));
  }

  private async find(name: string, kind?: AudienceKind): Promise<AudienceDefinition | undefined> {
    const trait = traitOf(name);
    const found = await this.store.find(trait);
    if (found !== undefined) refuseOther({ trait, name, kind: kind ?? found.kind }, found);
    return found;
  }

  private announcement({ source, integrations }: Partial<Announcement>): Announcement {
    const { sources, defaults } = this.options;
    const name = source ?? defaults.source ?? sources[0];
    if (!sources.includes(name)) throw new UnknownSourceError(name, sources);
    return { source: name, integrations: integrations ?? defaults.integrations };
  }

  private async run<T>(work: Promise<T>): Promise<T> {
    this.running.add(work);
    try {
      return await work;
    } finally {
      this.running.delete(work);
    }
  }
}

function definitionOf(name: string, kind: AudienceKind): AudienceDefinition {
  return { trait: traitOf(name), name, kind };
}

function withoutChanged({ removed, unchanged }: TraitSyncResult): Omit<TraitSyncResult, 'changed'> {
  return { removed, unchanged };
}
