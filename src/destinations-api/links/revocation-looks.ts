import { within } from '../../shared/within.js';
import type { RevocationStore } from './revocation-store.js';

/** How long whoever asks waits for a look-up to begin, and for its answer, in milliseconds. */
const PATIENCE = 5_000;
/**
 * How long a look-up keeps others from being made, in milliseconds. While it goes on it may hold one of the connections with
 * which messages are queued, so nobody's patience ends it; but one whose answer was lost must not end all links for ever.
 */
const LONGEST = 60_000;

interface Look {
  readonly begun: Promise<true>;
  /** When the links were last revoked. */
  readonly answer: Promise<number | undefined>;
}

/**
 * Looks up when links were revoked: once at a time for each tenant, which may have any number of links, since the database
 * is that of the queue. Who asks while a look-up goes on shares the next one with all others who do: the one that goes on
 * may have begun before a revocation.
 */
export class RevocationLooks {
  private readonly running = new Map<string, Promise<number | undefined>>();
  /** What follows a running one as soon as that is over. */
  private readonly next = new Map<string, Look>();

  constructor(private readonly store: Pick<RevocationStore, 'revokedAt'>) {}

  /** When the links of a tenant were last revoked; `undefined` if the database did not say so in time. */
  async revokedAt(tenant: string): Promise<number | undefined> {
    const { begun, answer } = this.lookFor(tenant);
    // Whoever waits for a look-up to begin may give up before it fails.
    answer.catch(() => undefined);
    return (await within(PATIENCE, begun)) && within(PATIENCE, answer);
  }

  /** One that begins now or later. */
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

/** The answer; `undefined` after the longest time that one may take. Waiting for it keeps no process alive. */
function unlessLost(answer: Promise<number>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, LONGEST, undefined).unref();
    answer.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
