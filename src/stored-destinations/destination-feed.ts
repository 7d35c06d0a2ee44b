/** Which destinations a change may concern. If it names neither tenant nor id: all, with and without a tenant. */
export interface DestinationChange {
  tenant: string | undefined;
  /** `undefined`: any destination of the tenant. */
  id: string | undefined;
}

/** What has changed since a revision. */
export interface DestinationChanges {
  /** The latest revision. */
  revision: number;
  /** `undefined` if the changes are no longer known: everything may have changed. */
  changes: readonly DestinationChange[] | undefined;
}

/**
 * Tells all processes about changes, in order. The feed is stored beside the queue, so that a process that was away
 * or stood still for a moment misses no change.
 */
export interface DestinationFeed {
  /** @param since the revision up to which the changes are known; `undefined` for none */
  changesSince(since: number | undefined): Promise<DestinationChanges>;
  /** Records a change that was made elsewhere. */
  publish(change: DestinationChange): Promise<void>;
}

/** Maximum number of changes that are kept. A process that missed more reads everything again. */
export const KEPT_CHANGES = 5_000;

/** How long the id of a deleted destination is remembered, in milliseconds: 90 days. */
export const DELETED_MEMORY = 90 * 86_400_000;
