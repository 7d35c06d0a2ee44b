import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '../../messages/message.types.js';

const BASIC = /^basic +([\w+/-]+=*)\s*$/i;
const BEARER = /^bearer +(\S+)\s*$/i;

interface HashedKey {
  hash: Buffer;
  source: string;
}

/** Returns the write key in the user name of a `Basic` header; `undefined` if there is none. */
export function basicKey(authorization: string | undefined): string | undefined {
  const encoded = BASIC.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const credentials = Buffer.from(encoded, 'base64').toString('utf8');
  // Clients send no password, so a colon at the end ends the user name. The key itself may contain colons.
  const userName = credentials.endsWith(':') ? credentials.slice(0, -1) : credentials.replace(/:.*$/s, '');
  return userName === '' ? undefined : userName;
}

/** Returns the write key in the body, or else in a `Bearer` header. */
export function otherKey(body: JsonObject, authorization: string | undefined): string | undefined {
  const { writeKey } = body;
  if (typeof writeKey === 'string' && writeKey !== '') return writeKey;
  return BEARER.exec(authorization ?? '')?.[1];
}

/** Finds sources by their write keys, in a time that does not depend on how much of a key was right. */
export class WriteKeys {
  /** Secret of this process for hashing keys. Keys are compared by their hashes, which all have the same length. */
  private readonly secret = randomBytes(32);
  private readonly keys: readonly HashedKey[];

  constructor(sources: readonly { name: string; writeKey: string }[]) {
    this.keys = sources.map(({ name, writeKey }) => ({ hash: this.hash(writeKey), source: name }));
  }

  /** Returns the name of the source that a key belongs to; `undefined` for an unknown key. */
  sourceOf(writeKey: string): string | undefined {
    const hash = this.hash(writeKey);
    let found: string | undefined;
    // The loop goes on after a match, so that the time does not reveal its position.
    for (const key of this.keys) if (timingSafeEqual(key.hash, hash)) found = key.source;
    return found;
  }

  private hash(writeKey: string): Buffer {
    return createHmac('sha256', this.secret).update(writeKey).digest();
  }
}
