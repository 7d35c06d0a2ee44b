import { within } from '../../shared/within.js';
import type { RevocationStore } from './revocation-store.js';

/** How long whoever asks waits for an answer, in milliseconds. */
const PATIENCE = 5_000;
/**
 * How long a look-up keeps others from being made, in milliseconds. While it goes on it may hold one of the connections with
 * which messages are queued, so nobody's patience ends it; but one whose answer was lost must not end all links for ever.
 */
const LONGEST = 60_000;

/** When the links of a tenant were last revoked; `undefined` if the database did not say so in time. */
type Look = Promise<number | undefined>;

/**
 * Looks up when links were revoked: once at a time for each tenant, which may have any number of links, since the database
 * is that of the queue. Who asks while a look-up goes on shares the next one with all others who do: the one that goes on
 * may have begun before a revocation.
 */
export class RevocationLooks {
  private readonly running = new Map<string, Look>();
  /** What follows a running one as soon as that is over. */
  private readonly next = new Map<string, Look>();

  constructor(private readonly store: Pick<RevocationStore, 'revokedAt'>) {}

  revokedAt(tenant: string): Look {
    return within(PATIENCE, this.lookFor(tenant));
  }

  /** One that begins now or later. */
  private lookFor(tenant: string): Look {
    const next = this.next.get(tenant);
    if (next !== undefined) return next;
    const running = this.running.get(tenant);
    return running === undefined ? this.begin(tenant) : this.follow(tenant, running);
  }

  private begin(tenant: string): Look {
    const look = within(LONGEST, this.store.revokedAt(tenant)).finally(() => this.running.delete(tenant));
    this.running.set(tenant, look);
    return look;
  }

  private follow(tenant: string, running: Look): Look {
    const begin = (): Look => {
      this.next.delete(tenant);
      return this.begin(tenant);
    };
    const next = running.then(begin, begin);
    this.next.set(tenant, next);
    return next;
  }
}
