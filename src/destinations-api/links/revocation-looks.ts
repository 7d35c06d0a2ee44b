import { within } from '../../shared/within.js';
import type { RevocationStore } from './revocation-store.js';

/** How long a caller waits for a look-up to begin, and then again for its answer, in milliseconds. */
const PATIENCE = 5_000;
/**
 * How long a look-up keeps the next one of its tenant from beginning, in milliseconds. A running look-up may hold one
 * of the connections with which messages are queued, so it continues when its callers give up. But a look-up whose
 * answer was lost must not make the tenant's links unusable for ever.
 */
const LONGEST = 60_000;

interface Look {
  readonly begun: Promise<true>;
  /** When the links were last revoked; `undefined` if the answer was lost. */
  readonly answer: Promise<number | undefined>;
}

/**
 * Looks up when links were revoked, with one look-up at a time for each tenant: a tenant may have any number of links,
 * and the database is that of the queue. All callers that ask while a look-up runs share the next one, since the
 * running one may have begun before a revocation.
 */
export class RevocationLooks {
  private readonly running = new Map<string, Promise<number | undefined>>();
  /** Look-ups that begin as soon as the running one of their tenant is over. */
  private readonly next = new Map<string, Look>();

  constructor(private readonly store: Pick<RevocationStore, 'revokedAt'>) {}

  /** Resolves to when a tenant's links were last revoked, or to `undefined` if the database does not answer in time. */
  async revokedAt(tenant: string): Promise<number | undefined> {
    const { begun, answer } = this.lookFor(tenant);
    // The caller may give up before the look-up begins. A later failure of the look-up must not be unhandled.
    answer.catch(() => undefined);
    return (await within(PATIENCE, begun)) && within(PATIENCE, answer);
  }

  /** Returns a look-up that begins now, or after the running one. */
  private lookFor(tenant: string): Look {
    const next = this.next.get(tenant);
    if (next !== undefined) return next;
    const running = this.running.get(tenant);
    return running === undefined
      ? { begun: Promise.resolve(true), answer: this.begin(tenant) }
      : this.follow(tenant, running);
  }

  private begin(tenant: string): Promise<number | undefined> {
    const answer = unlessLost(this.store.revokedAt(tenant)).finally(() => this.running.delete(tenant));
    this.running.set(tenant, answer);
    return answer;
  }

  private follow(tenant: string, running: Promise<unknown>): Look {
    const isOver = (): true => true;
    const begun = running.then(isOver, isOver);
    const answer = begun.then(() => {
      this.next.delete(tenant);
      return this.begin(tenant);
    });
    const next = { begun, answer };
    this.next.set(tenant, next);
    return next;
  }
}

/** Resolves to the answer, or to `undefined` after the longest time for one. The timer keeps no process alive. */
function unlessLost(answer: Promise<number>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, LONGEST, undefined).unref();
    answer.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
