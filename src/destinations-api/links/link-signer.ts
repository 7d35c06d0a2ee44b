import { createHmac, timingSafeEqual } from 'node:crypto';
import { isTenantName } from '../../options/tenant-name.js';

/** The signed contents of a link. */
export interface LinkClaims {
  tenant: string;
  /** When the link was made, and when it ends, in milliseconds since the epoch. */
  issuedAt: number;
  expiresAt: number;
}

/** Longest token that is verified, in characters. All tokens of this class are shorter. */
const MAX_LENGTH = 2_000;

/** Signs the contents of links with HMAC-SHA256, so that nobody else can make or change a link. */
export class LinkSigner {
  /** Signing keys: one derived from each given key, since the given keys are for encryption. */
  private readonly keys: Buffer[];

  /**
   * @param keys the first key signs, all keys verify
   * @param prefix of the application: applications that share a key must not accept one another's links
   */
  constructor(keys: readonly Buffer[], prefix?: string) {
    const purpose = `nestjs-analytics:console-links${prefix === undefined ? '' : `:${prefix}`}`;
    this.keys = keys.map((key) => mac(key, purpose));
  }

  /** Returns a token, or `undefined` if there is no key. */
  sign({ tenant, issuedAt, expiresAt }: LinkClaims): string | undefined {
    const [key] = this.keys;
    if (key === undefined) return undefined;
    const claims = Buffer.from(JSON.stringify([tenant, issuedAt, expiresAt])).toString('base64url');
    return `${claims}.${mac(key, claims).toString('base64url')}`;
  }

  /** Returns the contents of a token, or `undefined` if none of the keys has signed it. */
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
  // The signature proves that `sign` wrote this text.
  const [tenant, issuedAt, expiresAt] = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as unknown[];
  return isTenantName(tenant)
    ? { tenant, issuedAt: Number(issuedAt), expiresAt: Number(expiresAt) }
    : undefined;
}
