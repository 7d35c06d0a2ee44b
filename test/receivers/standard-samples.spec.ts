import { beforeAll, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { Webhook } from 'standardwebhooks';
import { readmeSnippet } from '../support/readme-snippet.js';
import { Stage } from '../support/stage.js';
import { describeSample, LANGUAGES, SampleReceiver } from './sample-receiver.js';

/** What a server passes to the function for X-Signature, and what it passes to the one for Standard Webhooks. */
const PASSED: Record<string, [signature: string, headers: string]> = {
  Node: [`request.headers['x-signature']`, 'request.headers'],
  Python: ['self.headers["X-Signature"]', 'self.headers'],
  Go: ['r.Header.Get("X-Signature")', 'r.Header'],
};
const BODY = '{"name":"Zoë 🚀"}';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** The page about receiving, and the README, which has the functions that are replaced. */
let page: string;
let readme: string;

beforeAll(async () => {
  page = await readFile(new URL('../../docs/receiving.md', import.meta.url), 'utf8');
  readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
});

for (const language of LANGUAGES) {
  const passed = PASSED[language.name];
  if (passed === undefined) continue;
  const [signature, headers] = passed;
  const title = `the receiver of Standard Webhooks that the documentation has for ${language.name}`;
  describeSample(title, language, (binary) => {
    const stage = new Stage();

    /** Returns the server for X-Signature with its function replaced by the other, as the page says. */
    function source(): string {
      const name = language.name.toLowerCase();
      const own = readmeSnippet(readme, `verify ${name}`);
      const standard = readmeSnippet(page, `verify standard ${name}`);
      return language.source(page.replace(own, standard).replace(signature, headers));
    }

    function start(secret: string): Promise<SampleReceiver> {
      return stage.add(SampleReceiver.start({ ...language, binary }, source(), secret));
    }

    function signed(at = new Date(), secret = SECRET): Record<string, string> {
      return {
        'webhook-id': 'm1',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': new Webhook(secret).sign('m1', at, BODY),
      };
    }

    it('takes signed requests, and answers 401 to all others', async () => {
      const receiver = await start(SECRET);
      const right = signed();
      const { 'webhook-signature': ofNow = '', ...unsigned } = right;
      expect(await receiver.post(right, BODY)).toBe(204);
      const ofTwoSecrets = { ...unsigned, 'webhook-signature': `v1,b2xk ${ofNow}` };
      expect(await receiver.post(ofTwoSecrets, BODY)).toBe(204);
      expect(await receiver.post(right, `${BODY} `)).toBe(401);
      expect(await receiver.post({}, BODY)).toBe(401);
      expect(await receiver.post(unsigned, BODY)).toBe(401);
      expect(await receiver.post({ ...right, 'webhook-id': 'm2' }, BODY)).toBe(401);
      expect(await receiver.post({ ...right, 'webhook-timestamp': 'ö' }, BODY)).toBe(401);
      expect(await receiver.post({ ...right, 'webhook-signature': 'ö' }, BODY)).toBe(401);
      const ofAnother = signed(new Date(), `whsec_${btoa('x'.repeat(32))}`);
      expect(await receiver.post(ofAnother, BODY)).toBe(401);
    });

    it('answers 401 to requests that were signed more than five minutes before or after now', async () => {
      const receiver = await start(SECRET);
      expect(await receiver.post(signed(new Date(Date.now() - 400_000)), BODY)).toBe(401);
      expect(await receiver.post(signed(new Date(Date.now() + 400_000)), BODY)).toBe(401);
    });

    it.each(['', 'whsec_'])('does not refuse messages for good if the secret is "%s"', async (secret) => {
      const receiver = await start(secret);
      // Some receivers answer, and others break the connection off.
      expect(await receiver.post(signed(), BODY).catch(() => 500)).toBe(500);
    });
  });
}
