import { setTimeout as sleep } from 'node:timers/promises';
import { ConsoleLinkKeyError, InvalidConsoleLinkError } from '../../errors/console.errors.js';
import { RequestRate } from '../../http/request-rate.js';
import { RequestRefusal } from '../../http/request-refusal.js';
import { describe } from '../../options/option-reader.js';
import { queueUnavailable } from '../api-answer.js';
import type { LinkClaims, LinkSigner } from './link-signer.js';
import { RevocationLooks } from './revocation-looks.js';
import type { RevocationStore } from './revocation-store.js';

/** Longest time that a link is valid, in milliseconds: 30 days. */
const MAX_LINK_TIME = 30 * 86_400_000;

/** How long the clock may stand still, in milliseconds. If it does for longer, it was set back. */
const MAX_STANDSTILL = 100;

/** Links that show the destinations of one tenant to people who have not signed in. */
export class ConsoleLinks {
  /** By link, so that a revoked link does not use up its tenant's requests. */
  private readonly rate = new RequestRate(() => performance.now());
  private readonly looks: RevocationLooks;

  constructor(
    private readonly signer: LinkSigner,
    private readonly store: RevocationStore,
    /** The time, in milliseconds since the epoch. */
    private readonly now: () => number = Date.now,
  ) {
    this.looks = new RevocationLooks(store);
  }

  /** @param expiresIn in milliseconds. @throws ConsoleLinkKeyError, InvalidConsoleLinkError */
  create(tenant: string, expiresIn: number): string {
    if (!(expiresIn > 0 && expiresIn <= MAX_LINK_TIME)) {
      throw new InvalidConsoleLinkError(
        'expiresIn',
        `a number of milliseconds, more than 0 and at most ${MAX_LINK_TIME}`,
        describe(expiresIn),
      );
    }
    const issuedAt = this.now();
    const token = this.signer.sign({ tenant, issuedAt, expiresAt: issuedAt + expiresIn });
    if (token === undefined) throw new ConsoleLinkKeyError();
    return token;
  }

  /** Ends all links of a tenant that were made until now. Links that this process makes afterwards are valid. */
  async revoke(tenant: string): Promise<void> {
    const now = this.now();
    await this.store.revoke(tenant, now, now - MAX_LINK_TIME);
    // A link that is made in the same millisecond would count as revoked.
    for (let waited = 0; this.now() <= now && waited < MAX_STANDSTILL; waited++) await sleep(1);
  }

  /** Resolves to the tenant of a link. @throws {RequestRefusal} if it is invalid, has ended, or is used too often */
  async tenantOf(token: string): Promise<string> {
    const claims = this.signer.verify(token);
    if (claims === undefined || claims.expiresAt <= this.now()) throw ended();
    // Counted before the look-up, which burdens the queue's database.
    this.rate.count(nameOf(claims));
    const revokedAt = await this.looks.revokedAt(claims.tenant);
    if (revokedAt === undefined) throw queueUnavailable();
    if (claims.issuedAt <= revokedAt) throw ended();
    return claims.tenant;
  }
}

/** Returns the same name for every text of a link: a signature can be written in several ways. */
function nameOf({ tenant, issuedAt, expiresAt }: LinkClaims): string {
  return `${issuedAt} ${expiresAt} ${tenant}`;
}

function ended(): RequestRefusal {
  return new RequestRefusal(
    401,
    'LINK_ENDED',
    'This link is no longer valid: open it again from where you found it, or ask for a new one.',
  );
}
