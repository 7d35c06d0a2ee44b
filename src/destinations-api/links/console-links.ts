import { setTimeout as sleep } from 'node:timers/promises';
import { ConsoleLinkKeyError, InvalidConsoleLinkError } from '../../errors/console.errors.js';
import { RequestRate } from '../../http/request-rate.js';
import { RequestRefusal } from '../../http/request-refusal.js';
import { describe } from '../../options/option-reader.js';
import { queueUnavailable } from '../api-answer.js';
import type { LinkClaims, LinkSigner } from './link-signer.js';
import { RevocationLooks } from './revocation-looks.js';
import type { RevocationStore } from './revocation-store.js';

/** The longest time that a link is good for, in milliseconds: 30 days. */
const MAX_LINK_TIME = 30 * 86_400_000;

/** How long a clock may stand still, in milliseconds. One that does for longer was set back. */
const MAX_STANDSTILL = 100;

/** Links with which somebody sees the destinations of one tenant without signing in. */
export class ConsoleLinks {
  /** By the link: one that was revoked takes nothing of what its tenant may ask. */
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
        `milliseconds, at most ${MAX_LINK_TIME}`,
        describe(expiresIn),
      );
    }
    const issuedAt = this.now();
    const token = this.signer.sign({ tenant, issuedAt, expiresAt: issuedAt + expiresIn });
    if (token === undefined) throw new ConsoleLinkKeyError();
    return token;
  }

  /** Ends all links of a tenant that were made until now. What this process makes once it resolves is good. */
  async revoke(tenant: string): Promise<void> {
    const now = this.now();
    await this.store.revoke(tenant, now, now - MAX_LINK_TIME);
    // A link of the same millisecond counts as made before.
    for (let waited = 0; this.now() <= now && waited < MAX_STANDSTILL; waited++) await sleep(1);
  }

  /** Whose link it is. @throws {RequestRefusal} if it is none, has ended, or is used too often */
  async tenantOf(token: string): Promise<string> {
    const claims = this.signer.verify(token);
    if (claims === undefined || claims.expiresAt <= this.now()) throw ended();
    // Before the look-up: the database is that of the queue.
    this.rate.count(nameOf(claims));
    const revokedAt = await this.looks.revokedAt(claims.tenant);
    if (revokedAt === undefined) throw queueUnavailable();
    if (claims.issuedAt <= revokedAt) throw ended();
    return claims.tenant;
  }
}

/** The same for all texts of a link: a signature can be written in several ways. */
function nameOf({ tenant, issuedAt, expiresAt }: LinkClaims): string {
  return `${issuedAt} ${expiresAt} ${tenant}`;
}

function ended(): RequestRefusal {
  return new RequestRefusal(401, 'LINK_ENDED', 'This link has ended: open it again from where you found it.');
}
