import { type DestinationBacklog, hasManyWaiting, waitingIn } from './destination-backlog.js';

/** From this many messages on, new ones for a tenant's destinations may let those for others go first. */
const MANY_WAITING = 5_000;
/** How long an answer holds, in milliseconds. A tenant may have thousands of destinations, all of them in a few jobs. */
const KNOWN_FOR = 50;

/** The backlogs of one tenant's destinations. */
interface TenantBacklog {
  readonly backlogs: Set<DestinationBacklog>;
  hasMany: boolean;
  /** By the monotonic clock. */
  askedAt: number;
}

/**
 * What waits for all destinations of a tenant together. Where it has thousands, little may wait for each, and what other
 * tenants send would come after all of it nevertheless.
 */
export class TenantBacklogs {
  private readonly tenants = new Map<string, TenantBacklog>();

  /** The backlog is that of a tenant's destination. */
  add(tenant: string, backlog: DestinationBacklog): void {
    if (backlog.tenant !== undefined) return;
    backlog.tenant = tenant;
    const known = this.tenants.get(tenant);
    if (known !== undefined) known.backlogs.add(backlog);
    else this.tenants.set(tenant, { backlogs: new Set([backlog]), hasMany: false, askedAt: -Infinity });
  }

  /** The backlog is not kept any more. */
  remove(backlog: DestinationBacklog): void {
    const { tenant } = backlog;
    if (tenant === undefined) return;
    const known = this.tenants.get(tenant);
    known?.backlogs.delete(backlog);
    if (known?.backlogs.size === 0) this.tenants.delete(tenant);
  }

  /** Whether so many messages wait for the destinations of a backlog's tenant that those for others may go first. */
  hasManyWaiting({ tenant }: DestinationBacklog): boolean {
    const known = tenant === undefined ? undefined : this.tenants.get(tenant);
    if (known === undefined) return false;
    const now = performance.now();
    if (now - known.askedAt >= KNOWN_FOR) {
      known.askedAt = now;
      let waiting = 0;
      // One that lets others go first by itself, as where its receiver is down, is no reason for the others to do so.
      for (const backlog of known.backlogs) if (!hasManyWaiting(backlog)) waiting += waitingIn(backlog);
      known.hasMany = waiting >= MANY_WAITING;
    }
    return known.hasMany;
  }
}
