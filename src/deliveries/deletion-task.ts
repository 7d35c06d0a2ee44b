/** A user whose deletion is to be carried out. */
export interface DeletedUser {
  userId: string;
  /** Names of the sources that the user is deleted from. */
  sources: string[];
  /** Whether the user is deleted from all others as well, even from those that are gone. @default false */
  isOfAllSources?: boolean;
  /** The only tenant whose user it is. @default all, and nobody */
  tenant?: string | undefined;
}

/** Users whose deletion has to be repeated, each with the error that is the reason. */
export type UnfinishedUsers = ReadonlyMap<DeletedUser, unknown>;

/** What is stored of a deletion that has to be carried out. Older versions go by its sources alone. */
export function taskOf({ userId, sources, isOfAllSources, tenant }: DeletedUser): string {
  return JSON.stringify({ userId, sources, tenant, ...(isOfAllSources === true && { all: true }) });
}

/** Whom a task is about; nobody if it is none, since another version of this package may have written it. */
export function deletedUser(task: string): DeletedUser[] {
  const { userId, sources, tenant, all } = fieldsOf(task);
  // Versions that name no tenant delete from all of them.
  const isTenant = tenant === undefined || typeof tenant === 'string';
  return typeof userId === 'string' && Array.isArray(sources) && isTenant
    ? [{ userId, sources: sources.map(String), isOfAllSources: all === true, tenant }]
    : [];
}

function fieldsOf(task: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(task)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
