/** Which destinations a change may concern. If it names neither tenant nor id: all, with and without a tenant. */
export interface DestinationChange {
  tenant: string | undefined;
  /** `undefined`: any destination of the tenant. */
  id: string | undefined;
}

/** What has changed since a change. */
export interface DestinationChanges {
  /**
   * The latest change as a text, `NO_CHANGE` if there was none. Two changes never have the same text, even if the
   * database lost one of them, as in a failover, before it made the other.
   */
  latest: string;
  /** `undefined` if the changes are not known, or the database has lost the one that was named: all may have changed. */
  changes: readonly DestinationChange[] | undefined;
}

/**
 * Tells all processes about changes, in order. The feed is stored beside the queue, so that a process that was away
 * or stood still for a moment misses no change.
 */
export interface DestinationFeed {
  /** @param since `latest` of the previous answer; `undefined` for none */
  changesSince(since: string | undefined): Promise<DestinationChanges>;
  /** Records a change that was made elsewhere. */
  publish(change: DestinationChange): Promise<void>;
}

/** Stands for the latest change before there is one. */
export const NO_CHANGE = '0';

/** Maximum number of changes that are kept. A process that missed more reads everything again. */
export const KEPT_CHANGES = 5_000;

/** How long the id of a deleted destination is remembered, in milliseconds: 90 days. */
export const DELETED_MEMORY = 90 * 86_400_000;
