import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createHmac } from 'node:crypto';
import { HmacKey } from '../../src/signing/hmac-key.js';
import { sharedKey, signature } from '../../src/signing/webhook-signature.js';

const VECTORS = [
  ['teehee', '{"name":"Zoë 🚀"}', '0073f327441fe1b05a26cad3f59eab4b7d51c2ea'],
  [
    'teehee',
    '{"type":"delete","userId":"019mr8mf4r","timestamp":"2012-12-02T00:30:08.276Z"}',
    'c3196d278ad70d4cd303479d370dd87b03856f89',
  ],
  ['abc123', '{"cool":true}', '5099cab379b3be52908387457007040cc934ef86'],
  ['Jefe', 'what do ya want for nothing?', 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'],
] as const;

describe('the signature', () => {
  it.each(VECTORS)('with the secret %s of the body %s is %s', (secret, body, digest) => {
    expect(signature(body, sharedKey(secret))).toBe(digest);
  });

  it('is the same for a text and for its UTF-8 bytes', () => {
    for (const [secret, body, digest] of VECTORS) {
      expect(signature(Buffer.from(body), sharedKey(secret))).toBe(digest);
    }
  });
});

describe('an HMAC', () => {
  /** The HMAC that Node computes. */
  function expected(algorithm: string, key: string | Uint8Array, message: string | Uint8Array): string {
    return createHmac(algorithm, key).update(message).digest('hex');
  }

  it.each(['sha1', 'sha256'] as const)(
    'with %s equals that of Node, for any key and any messages',
    (algorithm) => {
      // Some keys are longer than a block, which are hashed first.
      const key = fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.string({ unit: 'binary', maxLength: 100 }));
      const message = fc.oneof(fc.uint8Array({ maxLength: 500 }), fc.string({ unit: 'binary' }));
      fc.assert(
        fc.property(key, fc.array(message), (secret, messages) => {
          const hmac = new HmacKey(algorithm, secret);
          for (const one of messages) expect(hmac.sign(one, 'hex')).toBe(expected(algorithm, secret, one));
        }),
      );
    },
  );

  it.each([63, 64, 65, 128])('equals that of Node for a key of %i bytes', (size) => {
    const key = Buffer.alloc(size, 0xa5);
    expect(new HmacKey('sha1', key).sign('message', 'hex')).toBe(expected('sha1', key, 'message'));
    expect(new HmacKey('sha256', key).sign('message', 'hex')).toBe(expected('sha256', key, 'message'));
  });

  it.each([0, 65_471, 65_472, 65_473, 1_000_000])('equals that of Node for a message of %i bytes', (size) => {
    const message = Buffer.alloc(size, 0x5a);
    expect(sharedKey('secret').sign(message, 'hex')).toBe(expected('sha1', 'secret', message));
  });

  it('with one key is not affected by another key', () => {
    const keys = ['first', 'second'].map(sharedKey);
    const signed = (): string[] => keys.map((key) => key.sign('message', 'hex'));
    expect(signed()).toEqual(signed());
    expect(signed()).toEqual(['first', 'second'].map((secret) => expected('sha1', secret, 'message')));
  });
});
