import type { JsonObject } from '../messages/message.types.js';

const BASIC = /^basic +([\w+/-]+=*)\s*$/i;
const BEARER = /^bearer +(\S+)\s*$/i;

/** The write key in the user name of a `Basic` header; `undefined` where there is none. */
export function basicKey(authorization: string | undefined): string | undefined {
  const encoded = BASIC.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [userName = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':', 1);
  return userName === '' ? undefined : userName;
}

/** The write key in the body, else in a `Bearer` header. */
export function otherKey(body: JsonObject, authorization: string | undefined): string | undefined {
  const { writeKey } = body;
  if (typeof writeKey === 'string' && writeKey !== '') return writeKey;
  return BEARER.exec(authorization ?? '')?.[1];
}
