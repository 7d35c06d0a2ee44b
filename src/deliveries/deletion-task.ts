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

/** A deletion as it is stored until it is carried out. */
export interface DeletionTask extends DeletedUser {
  /** Whether the process that took the deletion keeps audiences in a store of the application. @default false */
  isForOwnStore?: boolean;
}

/** Users whose deletion has to be repeated, each with the error that is the reason. */
export type UnfinishedUsers = ReadonlyMap<DeletedUser, unknown>;

/** Returns the text that is stored until the deletion is carried out. Older versions read only its sources. */
export function taskOf({ userId, sources, isOfAllSources, tenant, isForOwnStore }: DeletionTask): string {
  return JSON.stringify({
    userId,
    sources,
    tenant,
    ...(isOfAllSources === true && { all: true }),
    ...(isForOwnStore === true && { own: true }),
  });
}

/** Whether a process without an audience store of the application would not find all that has to be removed. */
export function needsOwnStore(tasks: string): boolean {
  return tasks.split('\n').some((task) => fieldsOf(task).own === true);
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
