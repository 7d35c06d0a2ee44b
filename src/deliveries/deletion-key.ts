import { createHash } from 'node:crypto';

/** An accepted request to delete a user. */
export interface TakenDeletion {
  readonly userId: string;
  /** Name of the source whose destinations get the deletion. */
  readonly source: string;
  /** Whether the call named no source, so that the deletion is for all sources, even those that are no longer known. */
  readonly isOfAllSources: boolean;
  /** The only tenant whose user is deleted, if the call or a source that it named has specified a tenant. */
  readonly tenant: string | undefined;
}

/** What a deletion of a user applies to. */
export interface DeletionReach {
  /** Name of the only source. @default all */
  source?: string | undefined;
  /** The only tenant. @default all, and messages of nobody */
  tenant?: string | undefined;
}

/** Returns a short text that stands for a user's id, so that ids of any length need not be stored. */
export function userKey(userId: string): string {
  return hashOf(userId);
}

/** Returns a text that stands for a user and the reach of a deletion. It begins with the user's key. */
export function deletionKey(userId: string, reach: DeletionReach): string {
  return userKey(userId) + suffixOf(reach);
}

/** Makes the keys of the deletions that may apply to a message of a source. */
export class DeletionKeys {
  /** Suffixes that follow a user's key, by tenant. */
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

/** Returns an empty text for all sources and all tenants: versions before 0.2.0 stored every deletion like this. */
function suffixOf({ source, tenant }: DeletionReach): string {
  if (source === undefined && tenant === undefined) return '';
  return `.${hashOf(JSON.stringify([source ?? null, tenant ?? null]))}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
