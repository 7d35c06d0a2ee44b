import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { HmacKey } from '../../../src/signing/hmac-key.js';
import { sharedKey, signature } from '../../../src/signing/webhook-signature.js';
import { WebhookClient } from '../../../src/webhooks/http/webhook-client.js';
import type {
  WebhooksDestination,
  WebhooksDestinationOptions,
} from '../../../src/webhooks/webhooks-destination.js';
import { deliverOne } from '../../support/deliver-one.js';
import { Stage } from '../../support/stage.js';
import { webhooksDestination } from '../../support/webhooks-destination.js';

const MESSAGE = {
  messageId: `m-1 'quoted' "twice" $HOME`,
  body: '{"event":"It\'s \\"Zoë\\" 🚀","properties":{"a":"$(id) `id` \\\\ !x\\n\\u0000","b":"@/etc/passwd"}}',
};

const HEADERS = { 'X-Env': `it's "$HOME" \`id\` \\ *`, Authorization: 'Bearer t', 'X-Empty': '' };

/** Returns the arguments that a shell passes to `curl` for this line. */
function argumentsOf(line: string): string[] {
  const program = `curl() { for word; do printf '%s\\0' "$word"; done; }\n${line}\n`;
  return execFileSync('sh', ['-s'], { input: program, encoding: 'utf8' }).split('\0').slice(0, -1);
}

/** Returns the values of an option that may be given several times. */
function valuesOf(words: readonly string[], option: string): string[] {
  return words.flatMap((word, index) => (word === option ? [words[index + 1] ?? ''] : []));
}

describe('explaining a message', () => {
  const stage = new Stage();
  let client: WebhookClient;

  beforeEach(() => {
    client = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    jest.spyOn(Date, 'now').mockReturnValue(1_795_000_000_500);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await client.close();
  });

  function destination(
    urls: string[],
    options: Partial<WebhooksDestinationOptions> = {},
  ): WebhooksDestination {
    return webhooksDestination(client, urls, {
      headers: HEADERS,
      sharedSecret: 'teehee-top-secret',
      standardWebhooks: { keys: [new HmacKey('sha256', Buffer.alloc(24, 'key-top-secret'))] },
      ...options,
    });
  }

  it('shows byte for byte what is sent to each URL', async () => {
    const [one, two] = [await stage.receiver(), await stage.receiver()];
    const to = destination([one.url('/a?b=c&d=%20#part'), two.url('/')]);
    const explained = to.explain(MESSAGE);
    const { messageId: id, body } = MESSAGE;
    await deliverOne(to, { id, body, outcomes: [] });
    expect(explained.map(({ url }) => url)).toEqual([one.url('/a?b=c&d=%20'), two.url('/')]);
    for (const [index, { requests }] of [one, two].entries()) {
      expect(requests).toHaveLength(1);
      expect(explained[index]?.method).toBe(requests[0]?.method);
      expect(explained[index]?.headers.flat()).toEqual(requests[0]?.rawHeaders);
      expect(explained[index]?.body).toEqual(requests[0]?.body);
      expect(explained[index]?.signature).toBe(requests[0]?.headers['x-signature']);
      expect(explained[index]?.signature).toBe(signature(body, sharedKey('teehee-top-secret')));
    }
  });

  it('sends nothing', async () => {
    const receiver = await stage.receiver();
    const to = destination([receiver.url()]);
    to.explain(MESSAGE);
    const { messageId: id, body } = MESSAGE;
    await deliverOne(to, { id, body, outcomes: [] });
    expect(receiver.connections).toBe(1);
    expect(receiver.requests).toHaveLength(1);
  });

  it('shows no secret, in whatever form', () => {
    const explained = destination(['https://hooks.example.com/']).explain(MESSAGE);
    const shown = JSON.stringify(explained) + explained.map(({ body }) => body.toString()).join();
    const key = Buffer.alloc(24, 'key-top-secret');
    for (const secret of ['top-secret', key.toString('base64'), key.toString('hex')]) {
      expect(shown).not.toContain(secret);
    }
  });

  it('shows no signature if there is no shared secret', () => {
    const options = { sharedSecret: undefined, standardWebhooks: undefined };
    const [explained] = destination(['https://hooks.example.com/'], options).explain(MESSAGE);
    expect(explained).not.toHaveProperty('signature');
    expect(explained?.headers.map(([name]) => name)).not.toContain('X-Signature');
  });

  it.each([
    ['https://hooks.example.com/events', 'hooks.example.com'],
    ['http://hooks.example.com:80/', 'hooks.example.com'],
    ['https://hooks.example.com:8443/', 'hooks.example.com:8443'],
    ['http://[2606:4700::1111]:8080/', '[2606:4700::1111]:8080'],
  ])('shows the Host of %s', (url, host) => {
    const [explained] = destination([url]).explain(MESSAGE);
    expect(explained?.headers[0]).toEqual(['host', host]);
  });

  it('gives a curl line that reads no file, whatever the body starts with', () => {
    const [explained] = destination(['https://hooks.example.com/']).explain({
      ...MESSAGE,
      body: '@/etc/hosts',
    });
    expect(valuesOf(argumentsOf(explained?.curl ?? ''), '--data-raw')).toEqual(['@/etc/hosts']);
  });

  it('gives a curl line that a shell turns into exactly this request', () => {
    const url = `https://hooks.example.com/it's?a[]={b}&$HOME`;
    const [explained] = destination([url]).explain(MESSAGE);
    const [globoff, ...words] = argumentsOf(explained?.curl ?? '').filter(
      (word) => word !== '--include' && word !== '--http1.1',
    );
    expect(globoff).toBe('--globoff');
    expect(words.at(-1)).toBe(explained?.url);
    expect(valuesOf(words, '--request')).toEqual(['POST']);
    expect(valuesOf(words, '--data-raw')).toEqual([MESSAGE.body]);
    // Host and Content-Length are left to curl. Headers that curl would add itself are removed.
    const sent = explained?.headers.slice(1, -1) ?? [];
    expect(valuesOf(words, '--header')).toEqual([
      ...sent.map(([name, value]) => (value === '' ? `${name};` : `${name}: ${value}`)),
      'Accept:',
      'Expect:',
    ]);
  });
});
