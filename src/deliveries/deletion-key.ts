import { createHash } from 'node:crypto';

/** A deletion of a user that was taken. */
export interface TakenDeletion {
  readonly userId: string;
  /** Name of the source whose destinations hear of it. */
  readonly source: string;
  /** Whether the call named no source, so that it is for all, even for those that are no longer known. */
  readonly isOfAllSources: boolean;
  /** The only tenant whose user it is, where the call or a source that it named has said so. */
  readonly tenant: string | undefined;
}

/** What a deletion of a user is for. */
export interface DeletionReach {
  /** Name of the only source. @default all */
  source?: string | undefined;
  /** The only tenant. @default all, and messages of nobody */
  tenant?: string | undefined;
}

/** A short text that stands for a user's id, so that ids of any length need not be stored. */
export function userKey(userId: string): string {
  return hashOf(userId);
}

/** Stands for a user and for what a deletion is for. It begins with the user's key. */
export function deletionKey(userId: string, reach: DeletionReach): string {
  return userKey(userId) + suffixOf(reach);
}

/** Makes the keys of the deletions that a message of a source can be meant by. */
export class DeletionKeys {
  /** What follows the key of a user, by the tenant. */
  private readonly suffixes = new Map<string | undefined, readonly string[]>();

  /** @param source name of the source of the messages */
  constructor(private readonly source: string) {}

  /** @param users keys of the users that a message is about */
  of(users: readonly string[], tenant: string | undefined): string[] {
    let suffixes = this.suffixes.get(tenant);
    if (suffixes === undefined) this.suffixes.set(tenant, (suffixes = this.suffixesFor(tenant)));
    return users.flatMap((user) => suffixes.map((suffix) => user + suffix));
  }

  private suffixesFor(tenant: string | undefined): string[] {
    const { source } = this;
    const reaches =
      tenant === undefined ? [{}, { source }] : [{}, { source }, { tenant }, { source, tenant }];
    return reaches.map(suffixOf);
  }
}

/** Empty for a deletion from all sources and for all tenants, as versions before 0.2.0 stored each. */
function suffixOf({ source, tenant }: DeletionReach): string {
  if (source === undefined && tenant === undefined) return '';
  return `.${hashOf(JSON.stringify([source ?? null, tenant ?? null]))}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
