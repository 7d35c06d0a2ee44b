import { describe, expect, it } from '@jest/globals';
import { signature } from '../../src/destinations/webhooks/webhook-signature.js';

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
    expect(signature(body, secret)).toBe(digest);
  });

  it('is the same over a text and over its bytes in UTF-8', () => {
    for (const [secret, body, digest] of VECTORS) expect(signature(Buffer.from(body), secret)).toBe(digest);
  });
});
