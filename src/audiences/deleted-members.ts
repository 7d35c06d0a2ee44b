import type { DeletedUser } from '../deliveries/deletion-task.js';
import { AudienceBusyError } from '../errors/audience.errors.js';
import type { AudienceDefinition, AudienceStore } from '../options/audience-store.js';
import { TimeSlice } from '../shared/time-slice.js';
import { sourcesOf } from './audience-definition.js';
import type { Membership } from './membership.js';
import { isStorable } from './trait-entries.js';

/**
 * The tenant whose event a call of an audience from a source about a user is; `undefined` for nobody's. It throws what the
 * application's function throws.
 */
export type MemberOwner = (trait: string, source: string | undefined, userId: string) => string | undefined;

/** The users whom a deletion concerns in an audience. */
interface Concerned {
  userIds: string[];
  /** Those of whom nobody can say yet whose they are, and the first error of this. */
  unknown: { userIds: string[]; error: unknown };
}

/** Removes deleted users from audiences and computed traits. */
export class DeletedMembers {
  constructor(
    private readonly store: Pick<AudienceStore, 'list'>,
    private readonly membership: Pick<Membership, 'forget' | 'doubt'>,
    private readonly ownerOf: MemberOwner,
  ) {}

  /**
   * Removes users from what had calls of a source that they are deleted from. A deletion by a tenant is for those
   * whose calls are events of that tenant, since another tenant may have a user of the same id. Sends nothing.
   * Those of an audience that is busy or cannot be changed hold up no others, nor do members of whom the application cannot
   * say whose they are.
   *
   * @throws AudienceBusyError when one is still busy after a minute, or what the application's function throws about a
   *   member; the others are done then
   */
  async forget(deleted: readonly DeletedUser[]): Promise<void> {
    const users = deleted.filter(({ userId }) => isStorable(userId));
    const removals: Promise<void>[] = [];
    const busy: { audience: AudienceDefinition; concerned: Concerned }[] = [];
    for (const audience of users.length === 0 ? [] : await this.store.list()) {
      const concerned = await this.concernedBy(audience, users);
      const removal = this.remove(audience, concerned, 0).catch((error: unknown) => {
        if (!(error instanceof AudienceBusyError)) throw error;
        busy.push({ audience, concerned });
      });
      removals.push(removal);
      await Promise.allSettled([removal]);
    }
    removals.push(...busy.map(({ audience, concerned }) => this.remove(audience, concerned)));
    await Promise.allSettled(removals);
    await Promise.all(removals);
  }

  private async remove(
    audience: AudienceDefinition,
    { userIds, unknown }: Concerned,
    wait?: number,
  ): Promise<void> {
    if (userIds.length > 0) await this.membership.forget(audience, userIds, wait);
    if (unknown.userIds.length === 0) return;
    // A function that throws for everybody it does not know must not have deletions of others repeated for ever.
    if (await this.membership.doubt(audience, unknown.userIds, wait)) throw unknown.error;
  }

  private async concernedBy(audience: AudienceDefinition, users: readonly DeletedUser[]): Promise<Concerned> {
    const slice = new TimeSlice();
    const userIds: string[] = [];
    const unknown: Concerned['unknown'] = { userIds: [], error: undefined };
    for (const user of users) {
      if (slice.isOver) await slice.pause();
      try {
        if (this.concerns(user, audience)) userIds.push(user.userId);
      } catch (error) {
        if (unknown.userIds.length === 0) unknown.error = error;
        unknown.userIds.push(user.userId);
      }
    }
    return { userIds, unknown };
  }

  private concerns(deleted: DeletedUser, audience: AudienceDefinition): boolean {
    const { userId, sources, isOfAllSources = false, tenant } = deleted;
    return sourcesOf(audience).some((source) => {
      if (!isOfAllSources && source !== undefined && !sources.includes(source)) return false;
      return tenant === undefined || this.ownerOf(audience.trait, source, userId) === tenant;
    });
  }
}
