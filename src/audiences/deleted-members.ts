import type { DeletedUser } from '../deliveries/deletion-task.js';
import { AudienceBusyError } from '../errors/audience.errors.js';
import type { AudienceDefinition, AudienceStore } from '../options/audience-store.js';
import { TimeSlice } from '../shared/time-slice.js';
import { sourcesOf } from './audience-definition.js';
import type { Membership } from './membership.js';
import { isStorable } from './trait-entries.js';

/** The tenant whose event a call of an audience from a source about a user is; `undefined` for nobody's. */
export type MemberOwner = (trait: string, source: string | undefined, userId: string) => string | undefined;

/** Removes deleted users from audiences and computed traits. */
export class DeletedMembers {
  constructor(
    private readonly store: Pick<AudienceStore, 'list'>,
    private readonly membership: Pick<Membership, 'forget'>,
    private readonly ownerOf: MemberOwner,
  ) {}

  /**
   * Removes users from what had calls of a source that they are deleted from. A deletion by a tenant is for those
   * whose calls are events of that tenant, since another tenant may have a user of the same id. Sends nothing.
   * Those of an audience that is busy or cannot be changed hold up no others.
   *
   * @throws AudienceBusyError when one is still busy after a minute; the others are done then
   */
  async forget(deleted: readonly DeletedUser[]): Promise<void> {
    const users = deleted.filter(({ userId }) => isStorable(userId));
    const removals: Promise<void>[] = [];
    const busy: { audience: AudienceDefinition; userIds: string[] }[] = [];
    for (const audience of users.length === 0 ? [] : await this.store.list()) {
      const userIds = await this.concernedBy(audience, users);
      if (userIds.length === 0) continue;
      const removal = this.membership.forget(audience, userIds, 0).catch((error: unknown) => {
        if (!(error instanceof AudienceBusyError)) throw error;
        busy.push({ audience, userIds });
      });
      removals.push(removal);
      await Promise.allSettled([removal]);
    }
    removals.push(...busy.map(({ audience, userIds }) => this.membership.forget(audience, userIds)));
    await Promise.allSettled(removals);
    await Promise.all(removals);
  }

  private async concernedBy(audience: AudienceDefinition, users: readonly DeletedUser[]): Promise<string[]> {
    const slice = new TimeSlice();
    const userIds: string[] = [];
    for (const user of users) {
      if (slice.isOver) await slice.pause();
      if (this.concerns(user, audience)) userIds.push(user.userId);
    }
    return userIds;
  }

  private concerns(deleted: DeletedUser, audience: AudienceDefinition): boolean {
    const { userId, sources, isOfAllSources = false, tenant } = deleted;
    return sourcesOf(audience).some((source) => {
      if (!isOfAllSources && source !== undefined && !sources.includes(source)) return false;
      return tenant === undefined || this.ownerOf(audience.trait, source, userId) === tenant;
    });
  }
}
