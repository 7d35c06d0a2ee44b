import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { HmacKey } from '../../src/signing/hmac-key.js';
import { standardKey, standardSignature } from '../../src/signing/webhook-signature.js';
import { WebhookClient } from '../../src/webhooks/http/webhook-client.js';
import type {
  WebhooksDestination,
  WebhooksDestinationOptions,
} from '../../src/webhooks/webhooks-destination.js';
import { InvalidOptionsError } from '../../src/errors/setup.errors.js';
import { resolveOptions } from '../../src/options/resolve-options.js';
import { deliverOne } from '../support/deliver-one.js';
import type { Answer, Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { webhooksDestination } from '../support/webhooks-destination.js';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OLD_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const BODY = '{"version":1,"type":"track","event":"Zoë 🚀"}';

function keyOf(secret: string): HmacKey {
  const key = standardKey(secret);
  if (key === undefined) throw new Error('This is not a secret.');
  return key;
}

/** Returns a signature by the key, which distinguishes keys. */
function signedBy(key: HmacKey | undefined): string | undefined {
  return key?.sign(BODY, 'base64');
}

describe('a Standard Webhooks signature', () => {
  it('equals the specification’s own test vector', () => {
    expect(
      standardSignature(
        keyOf(SECRET),
        { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: '1614265330' },
        '{"test": 2432232314}',
      ),
    ).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('equals that of the specification’s library and a plain HMAC-SHA256, for any key, id and body', () => {
    const id = fc.string({ minLength: 1, maxLength: 100 });
    const bytes = fc.uint8Array({ minLength: 24, maxLength: 64 });
    const seconds = fc.integer({ min: 0, max: 4_000_000_000 });
    const json = fc.json();
    fc.assert(
      fc.property(bytes, id, seconds, json, (keyBytes, messageId, timestamp, body) => {
        const base64 = Buffer.from(keyBytes).toString('base64');
        const given = standardSignature(
          keyOf(`whsec_${base64}`),
          { id: messageId, timestamp: `${timestamp}` },
          Buffer.from(body),
        );
        const theirs = new Webhook(base64).sign(messageId, new Date(timestamp * 1_000), body);
        const signed = `${messageId}.${timestamp}.${body}`;
        expect(given).toBe(theirs);
        expect(given).toBe(`v1,${createHmac('sha256', keyBytes).update(signed).digest('base64')}`);
      }),
    );
  });
});

describe('a Standard Webhooks secret', () => {
  it('is base64, with or without its prefix', () => {
    const signed = signedBy(new HmacKey('sha256', Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')));
    expect(signedBy(standardKey(SECRET))).toBe(signed);
    expect(signedBy(standardKey('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'))).toBe(signed);
  });

  it.each([
    ['empty', ''],
    ['nothing but the prefix', 'whsec_'],
    ['a plain text', 'whsec_correct horse battery staple!'],
    ['URL-safe base64', `whsec_${'-_'.repeat(16)}`],
    ['base64 that is cut off', `whsec_${'A'.repeat(33)}`],
    ['shorter than 24 bytes', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['longer than 64 bytes', `whsec_${Buffer.alloc(65).toString('base64')}`],
    ['a private key of the asymmetric scheme', `whsk_${Buffer.alloc(64).toString('base64')}`],
    ['followed by a line break', `${SECRET}\n`],
  ])('is not valid if it is %s', (_, secret) => {
    expect(standardKey(secret)).toBeUndefined();
  });
});

describe('the option standardWebhooks', () => {
  function resolve(standardWebhooks: unknown): ReturnType<typeof resolveOptions>['webhooks'][number] {
    const webhooks = { urls: ['https://hooks.example.com/'], standardWebhooks };
    const [resolved] = resolveOptions({ writeKey: 'wk_test', webhooks }, { worker: true }).webhooks;
    if (resolved === undefined) throw new Error('There is no destination.');
    return resolved;
  }

  it('accepts one secret or several', () => {
    const signed = [SECRET, OLD_SECRET].map((secret) => signedBy(keyOf(secret)));
    expect(resolve({ secret: SECRET }).standardWebhooks?.keys.map(signedBy)).toEqual(signed.slice(0, 1));
    expect(resolve({ secret: [SECRET, OLD_SECRET] }).standardWebhooks?.keys.map(signedBy)).toEqual(signed);
    expect(resolve(undefined).standardWebhooks).toBeUndefined();
  });

  it.each<[string, unknown, string[]]>([
    ['a secret in its place', SECRET, ['webhooks.standardWebhooks']],
    ['no secret', {}, ['webhooks.standardWebhooks.secret']],
    ['an unset variable', { secret: undefined }, ['webhooks.standardWebhooks.secret']],
    ['an empty secret', { secret: '' }, ['webhooks.standardWebhooks.secret']],
    ['a plain text', { secret: 'top-secret' }, ['webhooks.standardWebhooks.secret']],
    ['no secrets', { secret: [] }, ['webhooks.standardWebhooks.secret']],
    ['six secrets', { secret: Array(6).fill(SECRET) }, ['webhooks.standardWebhooks.secret']],
    ['one bad secret of two', { secret: [SECRET, 'top-secret'] }, ['webhooks.standardWebhooks.secret[1]']],
    ['another name', { secret: SECRET, secrets: 'top-secret' }, ['webhooks.standardWebhooks.secrets']],
  ])('refuses %s at start, without showing the secret', (_, value, paths) => {
    let error: unknown;
    try {
      resolve(value);
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof InvalidOptionsError)) throw new Error('It was accepted.');
    expect(error.problems.map(({ path }) => path)).toEqual(paths);
    expect(JSON.stringify([error.message, error.problems])).not.toMatch(/top-secret|MfKQ9r8G/);
  });
});

describe('a destination with standardWebhooks', () => {
  const stage = new Stage();
  let client: WebhookClient;

  beforeEach(() => {
    client = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await client.close();
  });

  const receive = (...answer: Answer[]): Promise<Receiver> => stage.receiver({ answer });

  function destination(
    receiver: Receiver,
    secrets: string[],
    options: Partial<WebhooksDestinationOptions> = {},
  ): WebhooksDestination {
    const standardWebhooks = { keys: secrets.map(keyOf) };
    return webhooksDestination(client, [receiver.url()], { standardWebhooks, ...options });
  }

  async function deliver(to: WebhooksDestination, id = 'm-1'): Promise<number> {
    const result = await deliverOne(to, { id, body: BODY, outcomes: [] });
    const at = result?.outcomes[0]?.at;
    if (at === undefined) throw new Error('There was no attempt.');
    return at;
  }

  it('sends headers that the specification’s library verifies, beside X-Signature', async () => {
    const receiver = await receive(200);
    const at = await deliver(destination(receiver, [SECRET], { sharedSecret: 'teehee' }));
    const [request] = await receiver.received(1);
    const headers = {
      'webhook-id': String(request?.headers['webhook-id']),
      'webhook-timestamp': String(request?.headers['webhook-timestamp']),
      'webhook-signature': String(request?.headers['webhook-signature']),
    };
    expect(new Webhook(SECRET).verify(request?.body ?? '', headers)).toEqual(JSON.parse(BODY));
    const signature = createHmac('sha1', 'teehee').update(BODY).digest('hex');
    expect(request?.rawHeaders.slice(-10)).toEqual([
      ...['webhook-id', 'm-1'],
      ...['X-Signature', signature],
      ...['webhook-timestamp', `${Math.floor(at / 1_000)}`],
      ...['webhook-signature', request?.headers['webhook-signature']],
      ...['content-length', `${Buffer.byteLength(BODY)}`],
    ]);
  });

  it('signs the id as the header has it, with a full stop and a tilde encoded', async () => {
    const receiver = await receive(200);
    await deliver(destination(receiver, [SECRET]), 'evil.1.{}~');
    const [request] = await receiver.received(1);
    const headers = {
      'webhook-id': 'evil~2E1~2E{}~7E',
      'webhook-timestamp': String(request?.headers['webhook-timestamp']),
      'webhook-signature': String(request?.headers['webhook-signature']),
    };
    expect(request?.headers).toMatchObject(headers);
    expect(new Webhook(SECRET).verify(BODY, headers)).toEqual(JSON.parse(BODY));
  });

  it('signs with every secret, so that receivers can change over one by one', async () => {
    const receiver = await receive(200);
    await deliver(destination(receiver, [SECRET, OLD_SECRET]));
    const [request] = await receiver.received(1);
    expect(request?.headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    const headers = {
      'webhook-id': 'm-1',
      'webhook-timestamp': String(request?.headers['webhook-timestamp']),
      'webhook-signature': String(request?.headers['webhook-signature']),
    };
    for (const secret of [SECRET, OLD_SECRET]) {
      expect(new Webhook(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY));
    }
    expect(() => new Webhook(OLD_SECRET.replace('B', 'C')).verify(BODY, headers)).toThrow();
  });

  it('stamps a request when it begins, not when it starts waiting for a connection', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(1_795_000_000_500);
    let free: (() => void) | undefined;
    const receiver = await receive((response) => (free = () => response.end()), 200);
    const to = destination(receiver, [SECRET]);
    const first = deliver(to, 'm-1');
    const second = deliver(to, 'm-2');
    await receiver.received(1);
    clock.mockReturnValue(1_795_000_060_999);
    free?.();
    await Promise.all([first, second]);
    const timestamps = receiver.requests.map(({ headers }) => headers['webhook-timestamp']);
    expect(timestamps).toEqual(['1795000000', '1795000060']);
  });

  it('sends neither header without this option', async () => {
    const receiver = await receive(200);
    await deliver(destination(receiver, []));
    const [request] = await receiver.received(1);
    expect(Object.keys(request?.headers ?? {}).filter((name) => name.startsWith('webhook-'))).toEqual([
      'webhook-id',
    ]);
  });
});
