import { type DestinationBacklog, hasManyWaiting, waitingIn } from './destination-backlog.js';

/** Number of waiting messages from which new ones for a tenant's destinations may let messages for others go first. */
const MANY_WAITING = 5_000;
/** How long an answer is reused, in milliseconds. A tenant may have thousands of destinations, all in a few jobs. */
const KNOWN_FOR = 50;

/** The backlogs of one tenant's destinations. */
interface TenantBacklog {
  readonly backlogs: Set<DestinationBacklog>;
  hasMany: boolean;
  /** When `hasMany` was last determined, by the monotonic clock. */
  askedAt: number;
}

/**
 * Adds up the messages that wait for all destinations of a tenant. If the tenant has thousands of destinations, few
 * messages may wait for each, but messages of other tenants would still come after all of them.
 */
export class TenantBacklogs {
  private readonly tenants = new Map<string, TenantBacklog>();

  /** Adds the backlog of a tenant's destination. */
  add(tenant: string, backlog: DestinationBacklog): void {
    if (backlog.tenant !== undefined) return;
    backlog.tenant = tenant;
    const known = this.tenants.get(tenant);
    if (known !== undefined) known.backlogs.add(backlog);
    else this.tenants.set(tenant, { backlogs: new Set([backlog]), hasMany: false, askedAt: -Infinity });
  }

  /** Removes a backlog that is no longer kept. */
  remove(backlog: DestinationBacklog): void {
    const { tenant } = backlog;
    if (tenant === undefined) return;
    const known = this.tenants.get(tenant);
    known?.backlogs.delete(backlog);
    if (known?.backlogs.size === 0) this.tenants.delete(tenant);
  }

  /** Whether so many messages wait for the destinations of a backlog's tenant that messages for others may go first. */
  hasManyWaiting({ tenant }: DestinationBacklog): boolean {
    const known = tenant === undefined ? undefined : this.tenants.get(tenant);
    if (known === undefined) return false;
    const now = performance.now();
    if (now - known.askedAt >= KNOWN_FOR) {
      known.askedAt = now;
      let waiting = 0;
      // A destination that has many by itself, as when its receiver is down, is no reason for the others to wait.
      for (const backlog of known.backlogs) if (!hasManyWaiting(backlog)) waiting += waitingIn(backlog);
      known.hasMany = waiting >= MANY_WAITING;
    }
    return known.hasMany;
  }
}
