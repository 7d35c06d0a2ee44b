import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createHmac } from 'node:crypto';
import {
  InvalidHeadersError,
  InvalidSecretError,
  RawBodyMissingError,
  verifySignature,
} from '../../src/index.js';

const BODY = '{"name":"Zoë 🚀"}';
const DIGEST = '0073f327441fe1b05a26cad3f59eab4b7d51c2ea';

describe('verifySignature', () => {
  it.each([
    ['teehee', BODY, DIGEST],
    ['abc123', '{"cool":true}', '5099cab379b3be52908387457007040cc934ef86'],
    ['Jefe', 'what do ya want for nothing?', 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'],
  ])(
    'accepts the signature with the secret %s of the body %s, as text or as bytes',
    (secret, body, digest) => {
      expect(verifySignature(body, digest, secret)).toBe(true);
      expect(verifySignature(Buffer.from(body), digest, secret)).toBe(true);
      expect(verifySignature(new TextEncoder().encode(body), digest, secret)).toBe(true);
    },
  );

  it('accepts exactly the digest of a plain HMAC-SHA1, for any body and secret', () => {
    const [bytes, secret] = [fc.uint8Array(), fc.string({ minLength: 1 })];
    fc.assert(
      fc.property(bytes, secret, fc.uint8Array(), (body, key, other) => {
        const digest = createHmac('sha1', key).update(body).digest('hex');
        expect(verifySignature(body, digest, key)).toBe(true);
        expect(verifySignature(other, digest, key)).toBe(Buffer.from(other).equals(body));
      }),
    );
  });

  it.each([
    ['what was parsed', JSON.parse(BODY)],
    ['a list', []],
    ['nothing', undefined],
  ])('asks for the raw body when it gets %s', (_, body) => {
    expect(() => verifySignature(body as string, DIGEST, 'teehee')).toThrow(RawBodyMissingError);
  });

  it.each([
    ['in upper case', DIGEST.toUpperCase()],
    ['with blanks around it', ` ${DIGEST} `],
    ['in an array', [DIGEST]],
    ['in an array beside a wrong one', ['0'.repeat(40), DIGEST]],
  ])('accepts a header %s', (_, header) => {
    expect(verifySignature(BODY, header, 'teehee')).toBe(true);
  });

  it.each<[string, string | string[] | null | undefined]>([
    ['no header', undefined],
    ['null', null],
    ['an empty header', ''],
    ['an empty array', []],
    ['a cut signature', DIGEST.slice(0, 39)],
    ['a longer signature', `${DIGEST}0`],
    ['another signature', DIGEST.replace('0', '1')],
    ['a signature in base64', Buffer.from(DIGEST, 'hex').toString('base64')],
    ['something that is not hex', 'z'.repeat(40)],
    ['as many characters of more bytes', 'ä'.repeat(40)],
    ['two in one header', `${DIGEST}, ${DIGEST}`],
  ])('refuses %s', (_, header) => {
    expect(verifySignature(BODY, header, 'teehee')).toBe(false);
  });

  it.each([[42], [true], [{}], [[DIGEST, 42]], [[null]]])(
    'fails for the header %j, which is no text',
    (header) => {
      const verify = (): unknown => Reflect.apply(verifySignature, undefined, [BODY, header, 'teehee']);
      expect(verify).toThrow(InvalidHeadersError);
      expect(verify).toThrow('Expected `x-signature` to hold strings');
    },
  );

  it('refuses a changed body, and another secret', () => {
    expect(verifySignature(`${BODY} `, DIGEST, 'teehee')).toBe(false);
    expect(verifySignature(BODY, DIGEST, 'Teehee')).toBe(false);
  });

  it('accepts one of several secrets', () => {
    expect(verifySignature(BODY, DIGEST, ['new', 'teehee'])).toBe(true);
    expect(verifySignature(BODY, DIGEST, ['new', 'newer'])).toBe(false);
  });

  it.each([[''], [[]], [['teehee', '']]])(
    'fails for the secret %j, with which anybody could sign',
    (secret) => {
      const forged = createHmac('sha1', '').update(BODY).digest('hex');
      expect(() => verifySignature(BODY, forged, secret)).toThrow(InvalidSecretError);
      expect(() => verifySignature(BODY, undefined, secret)).toThrow(InvalidSecretError);
    },
  );

  it('fails for an unset variable, and never reveals a secret', () => {
    for (const secret of [undefined, null, ['teehee', undefined]]) {
      const verify = (): unknown => Reflect.apply(verifySignature, undefined, [BODY, DIGEST, secret]);
      expect(verify).toThrow(InvalidSecretError);
      expect(verify).not.toThrow(/teehee/);
    }
  });
});
