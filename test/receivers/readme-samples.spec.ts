import { beforeAll, describe, expect, it } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Webhook } from 'standardwebhooks';
import { verifySignature, verifyStandardWebhook } from '../../src/index.js';
import { readmeSnippet } from '../support/readme-snippet.js';
import { Stage } from '../support/stage.js';
import { describeSample, LANGUAGES, SampleReceiver } from './sample-receiver.js';

/** Text of the page about receiving. */
let page: string;

beforeAll(async () => {
  page = await readFile(new URL('../../docs/receiving.md', import.meta.url), 'utf8');
});

describe('a sample signature of the page about receiving', () => {
  const sample = (pattern: RegExp): string => {
    const found = pattern.exec(page)?.[1];
    if (found === undefined) throw new Error(`The page has nothing like ${String(pattern)}`);
    return found;
  };

  it('is the digest of the sample body with the sample secret', () => {
    const body = sample(/^(\{"version":1,.*\})$/m);
    expect(JSON.stringify(JSON.parse(body))).toBe(body);
    expect(page).toMatch(/secret of the sample\s+above is `teehee`/);
    expect(verifySignature(body, sample(/^X-Signature: (\w+)$/m), 'teehee')).toBe(true);
  });

  it('is the signature of Standard Webhooks for the sample headers and body', () => {
    const body = sample(/^(\{"version":1,.*\})$/m);
    const secret = sample(/`(whsec_[A-Za-z0-9+/=]{20,})`/);
    const headers = {
      'webhook-id': sample(/^webhook-id: (.+)$/m),
      'webhook-timestamp': sample(/^webhook-timestamp: (\d+)$/m),
      'webhook-signature': sample(/^webhook-signature: (.+)$/m),
    };
    expect(JSON.parse(body)).toMatchObject({ messageId: headers['webhook-id'] });
    verifyStandardWebhook(body, headers, secret, { tolerance: Infinity });
    const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
    expect(new Webhook(secret).sign(headers['webhook-id'], at, body)).toBe(headers['webhook-signature']);
  });
});

describe('the README', () => {
  it.each(['node', 'python', 'go'])('verifies as the page about receiving does: %s', async (language) => {
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
    const whole = readmeSnippet(page, `verify ${language}`);
    expect(whole).toContain(readmeSnippet(readme, `verify ${language}`));
  });
});

for (const language of LANGUAGES) {
  describeSample(`the receiver in the documentation for ${language.name}`, language, (binary) => {
    const stage = new Stage();
    const body = '{"name":"Zoë 🚀"}';
    const ofNoSecret = createHmac('sha1', '').update(body).digest('hex');
    const digest = '0073f327441fe1b05a26cad3f59eab4b7d51c2ea';

    const start = (secret: string | undefined): Promise<SampleReceiver> =>
      stage.add(SampleReceiver.start({ ...language, binary }, language.source(page), secret));

    it('takes signed requests, and answers 401 to all others', async () => {
      const receiver = await start('teehee');
      expect(await receiver.post({ 'x-signature': digest }, body)).toBe(204);
      expect(await receiver.post({}, body)).toBe(401);
      expect(await receiver.post({}, '')).toBe(401);
      expect(await receiver.post({ 'x-signature': '' }, body)).toBe(401);
      expect(await receiver.post({ 'x-signature': 'ö'.repeat(40) }, body)).toBe(401);
      expect(await receiver.post({ 'x-signature': digest.slice(2) }, body)).toBe(401);
      expect(await receiver.post({ 'x-signature': digest }, `${body} `)).toBe(401);
      expect(await receiver.post({ 'x-signature': ofNoSecret }, body)).toBe(401);
    });

    it('answers 500 if the secret is empty, with which anybody could sign', async () => {
      const receiver = await start('');
      expect(await receiver.post({ 'x-signature': ofNoSecret }, body)).toBe(500);
    });

    it('answers 500 if there is no secret, so that messages are sent again', async () => {
      const receiver = await start(undefined);
      expect(await receiver.post({ 'x-signature': digest }, body)).toBe(500);
    });

    it('does not read a body to its end that is larger than any body of this package', async () => {
      const receiver = await start('teehee');
      const large = Buffer.alloc(8_388_608, ' ').toString();
      const signed = createHmac('sha1', 'teehee').update(large).digest('hex');
      const answer = receiver.post({ 'x-signature': signed }, large);
      // Some receivers answer, and others break the connection off.
      expect(await answer.catch(() => 413)).toBeGreaterThanOrEqual(413);
      expect(await receiver.post({ 'x-signature': digest }, body)).toBe(204);
    });

    it('does not wait for a body whose announced length is invalid', async () => {
      const receiver = await start('teehee');
      await once(await receiver.begin('Content-Length: -1'), 'end');
    });

    it('serves other requests while one does not end', async () => {
      const receiver = await start('teehee');
      await receiver.begin('Content-Length: 100');
      expect(await receiver.post({ 'x-signature': digest }, body)).toBe(204);
    });

    it('goes on serving after a request that breaks off', async () => {
      const receiver = await start('teehee');
      const socket = await receiver.begin('Content-Length: 100');
      socket.end();
      await once(socket, 'close');
      expect(await receiver.post({ 'x-signature': digest }, body)).toBe(204);
    });
  });
}
