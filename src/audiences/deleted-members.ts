import type { DeletedUser, UnfinishedUsers } from '../deliveries/deletion-task.js';
import { TenantThrew } from '../destinations/tenant-threw.js';
import { AudienceBusyError } from '../errors/audience.errors.js';
import type { AudienceDefinition, AudienceStore } from '../options/audience-store.js';
import { TimeSlice } from '../shared/time-slice.js';
import { sourcesOf } from './audience-definition.js';
import type { Membership } from './membership.js';
import { isStorable } from './trait-entries.js';

/**
 * Returns the tenant that an audience's call from this source about this user belongs to, or `undefined` if it belongs
 * to none. Returns a `TenantThrew` if the application's function throws.
 */
export type MemberOwner = (
  trait: string,
  source: string | undefined,
  userId: string,
) => string | TenantThrew | undefined;

const NOBODY: UnfinishedUsers = new Map();

/** Deleted users who may have to be removed from an audience. */
interface Concerned {
  users: DeletedUser[];
  /** Users whose tenant is not known yet, each with the error that is the reason. */
  unknown: UnfinishedUsers;
}

/** Removes deleted users from audiences and computed traits. */
export class DeletedMembers {
  constructor(
    private readonly store: Pick<AudienceStore, 'list'>,
    private readonly membership: Pick<Membership, 'forget' | 'doubt'>,
    private readonly ownerOf: MemberOwner,
  ) {}

  /**
   * Removes users from every audience and computed trait whose calls came from a source that they are deleted from.
   * A deletion by a tenant removes only users whose calls are events of that tenant, since another tenant may have a
   * user with the same id. Sends nothing. An audience that is busy or cannot be changed does not hold up the others,
   * nor does a member whose tenant is not known yet.
   *
   * @param onProgress called after the first attempt at each audience
   * @returns users whose removal has to be repeated: those of an audience that is still busy after a minute or cannot
   *   be changed, and members for whom the application's function throws
   */
  async forget(
    deleted: readonly DeletedUser[],
    onProgress: () => void = () => undefined,
  ): Promise<UnfinishedUsers> {
    const users = deleted.filter(({ userId }) => isStorable(userId));
    const unfinished: UnfinishedUsers[] = [];
    const busy: { audience: AudienceDefinition; concerned: Concerned }[] = [];
    for (const audience of users.length === 0 ? [] : await this.store.list()) {
      const concerned = await this.concernedBy(audience, users);
      const removal = this.remove(audience, concerned, 0).catch((error: unknown) => {
        if (!(error instanceof AudienceBusyError)) return allOf(concerned, error);
        busy.push({ audience, concerned });
        return NOBODY;
      });
      unfinished.push(await removal);
      onProgress();
    }
    const removals = busy.map(({ audience, concerned }) =>
      this.remove(audience, concerned).catch((error: unknown) => allOf(concerned, error)),
    );
    unfinished.push(...(await Promise.all(removals)));
    return new Map(unfinished.flatMap((left) => [...left]));
  }

  /** Resolves to the members whose tenant is not known yet. */
  private async remove(
    audience: AudienceDefinition,
    { users, unknown }: Concerned,
    wait?: number,
  ): Promise<UnfinishedUsers> {
    if (users.length > 0) await this.membership.forget(audience, idsOf(users), wait);
    if (unknown.size === 0) return NOBODY;
    // Only members count. A function that throws for every user it does not know must not repeat deletions forever.
    const members = new Set(await this.membership.doubt(audience, idsOf(unknown.keys()), wait));
    return new Map([...unknown].filter(([{ userId }]) => members.has(userId)));
  }

  private async concernedBy(
    audience: AudienceDefinition,
    deleted: readonly DeletedUser[],
  ): Promise<Concerned> {
    const slice = new TimeSlice();
    const users: DeletedUser[] = [];
    const unknown = new Map<DeletedUser, TenantThrew>();
    for (const user of deleted) {
      if (slice.isOver) await slice.pause();
      const isConcerned = this.concerns(user, audience);
      if (isConcerned instanceof TenantThrew) unknown.set(user, isConcerned);
      else if (isConcerned) users.push(user);
    }
    return { users, unknown };
  }

  /** Returns whether a deletion concerns an audience, or the error if the user's tenant is not known yet. */
  private concerns(deleted: DeletedUser, audience: AudienceDefinition): boolean | TenantThrew {
    const { userId, sources, isOfAllSources = false, tenant } = deleted;
    const concerned = sourcesOf(audience).filter(
      (source) => isOfAllSources || source === undefined || sources.includes(source),
    );
    if (tenant === undefined) return concerned.length > 0;
    const owners = concerned.map((source) => this.ownerOf(audience.trait, source, userId));
    return owners.includes(tenant) || (owners.find((owner) => owner instanceof TenantThrew) ?? false);
  }
}

function allOf({ users, unknown }: Concerned, error: unknown): UnfinishedUsers {
  return new Map([...users, ...unknown.keys()].map((user) => [user, error]));
}

function idsOf(users: Iterable<DeletedUser>): string[] {
  return Array.from(users, ({ userId }) => userId);
}
