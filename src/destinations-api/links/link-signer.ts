import { createHmac, timingSafeEqual } from 'node:crypto';
import { isTenantName } from '../../options/tenant-name.js';

/** What a link says. */
export interface LinkClaims {
  tenant: string;
  /** When it was made, and when it ends, in milliseconds since the epoch. */
  issuedAt: number;
  expiresAt: number;
}

/** Longer than any token of this class. */
const MAX_LENGTH = 2_000;

/** Signs what a link says with HMAC-SHA256, so that nobody else can make one or change it. */
export class LinkSigner {
  /** One for each of the given keys, which encrypt something else. */
  private readonly keys: Buffer[];

  /** @param keys the first one signs, all verify */
  constructor(keys: readonly Buffer[]) {
    this.keys = keys.map((key) => mac(key, 'nestjs-analytics:console-links'));
  }

  /** `undefined` without a key. */
  sign({ tenant, issuedAt, expiresAt }: LinkClaims): string | undefined {
    const [key] = this.keys;
    if (key === undefined) return undefined;
    const claims = Buffer.from(JSON.stringify([tenant, issuedAt, expiresAt])).toString('base64url');
    return `${claims}.${mac(key, claims).toString('base64url')}`;
  }

  /** What a token says; `undefined` if it was not signed here. */
  verify(token: string): LinkClaims | undefined {
    const [claims = '', signature = ''] = token.length > MAX_LENGTH ? [] : token.split('.');
    const given = Buffer.from(signature, 'base64url');
    const isOurs = this.keys.some((key) => {
      const expected = mac(key, claims);
      return expected.length === given.length && timingSafeEqual(expected, given);
    });
    return isOurs ? claimsIn(claims) : undefined;
  }
}

function mac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function claimsIn(encoded: string): LinkClaims | undefined {
  // The signature proves that `sign` wrote it.
  const [tenant, issuedAt, expiresAt] = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as unknown[];
  return isTenantName(tenant)
    ? { tenant, issuedAt: Number(issuedAt), expiresAt: Number(expiresAt) }
    : undefined;
}
