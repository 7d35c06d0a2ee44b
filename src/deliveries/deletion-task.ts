/** A user whose deletion is to be carried out. */
export interface DeletedUser {
  userId: string;
  /** Names of the sources that the user is deleted from. */
  sources: string[];
  /** Whether the user is deleted from all other sources as well, even those that no longer exist. @default false */
  isOfAllSources?: boolean;
  /** The only tenant whose user is deleted. @default all, and nobody */
  tenant?: string | undefined;
}

/** Users whose deletion has to be repeated, each with the error that is the reason. */
export type UnfinishedUsers = ReadonlyMap<DeletedUser, unknown>;

/** Returns the text that is stored until the deletion is carried out. Older versions read only its sources. */
export function taskOf({ userId, sources, isOfAllSources, tenant }: DeletedUser): string {
  return JSON.stringify({ userId, sources, tenant, ...(isOfAllSources === true && { all: true }) });
}

/** Returns the user of a task; nobody if another version of this package has written the task differently. */
export function deletedUser(task: string): DeletedUser[] {
  const { userId, sources, tenant, all } = fieldsOf(task);
  // Versions that store no tenant delete the users of all tenants.
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
