/** Which destinations a change may concern: those of all, with and without a tenant, if it names nothing. */
export interface DestinationChange {
  tenant: string | undefined;
  /** `undefined`: any destination of the tenant. */
  id: string | undefined;
}

/** What has changed since a revision. */
export interface DestinationChanges {
  /** The latest revision. */
  revision: number;
  /** `undefined` if they are not known any more: everything may have changed. */
  changes: readonly DestinationChange[] | undefined;
}

/**
 * Tells all processes of changes, in their order. It is stored beside the queue, so that no change is missed
 * by a process that was away or stood still for a moment.
 */
export interface DestinationFeed {
  /** @param since the revision up to which the changes are known; `undefined` for none */
  changesSince(since: number | undefined): Promise<DestinationChanges>;
  /** Records a change that was made elsewhere. */
  publish(change: DestinationChange): Promise<void>;
}

/** Changes that are kept: a process that missed more reads everything again. */
export const KEPT_CHANGES = 5_000;

/** How long the id of a deleted destination is remembered, in milliseconds: 90 days. */
export const DELETED_MEMORY = 90 * 86_400_000;
