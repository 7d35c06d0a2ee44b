import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { Headers as UndiciHeaders } from 'undici';
import {
  InvalidHeadersError,
  InvalidSecretError,
  RawBodyMissingError,
  type ReceivedHeaders,
  verifyStandardWebhook,
  WebhookVerificationError,
} from '../../src/index.js';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const BODY = '{"test": 2432232314}';
const SECONDS = 1_614_265_330;

/** The example of the specification's own tests. */
const HEADERS = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': `${SECONDS}`,
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};

const WRONG = 'v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=';

describe('verifyStandardWebhook', () => {
  beforeEach(() => {
    jest.spyOn(Date, 'now').mockReturnValue(SECONDS * 1_000);
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Returns the reason for which a webhook is refused, or `undefined` if it is accepted. */
  function refusal(
    headers: ReceivedHeaders,
    options?: { tolerance?: number },
    secrets: string | string[] = SECRET,
    body: string | Uint8Array = BODY,
  ): string | undefined {
    try {
      verifyStandardWebhook(body, headers, secrets, options);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      expect(error.code).toBe('WEBHOOK_NOT_VERIFIED');
      expect(error.message).toMatch(/^The webhook is not verified\. \S/);
      return error.reason;
    }
    return undefined;
  }

  it('accepts the example of the specification’s own tests, as text or as bytes', () => {
    expect(refusal(HEADERS)).toBeUndefined();
    expect(refusal(HEADERS, {}, SECRET, Buffer.from(BODY))).toBeUndefined();
    expect(refusal(HEADERS, {}, SECRET, new TextEncoder().encode(BODY))).toBeUndefined();
    expect(refusal(HEADERS, {}, SECRET.slice('whsec_'.length))).toBeUndefined();
  });

  it('asks for the raw body when it gets a parsed body, or none', () => {
    for (const body of [JSON.parse(BODY), null]) {
      expect(() => refusal(HEADERS, {}, SECRET, body as string)).toThrow(RawBodyMissingError);
    }
  });

  it('accepts what the specification’s library signs', () => {
    const body = '{"name":"Zoë 🚀"}';
    const signed = {
      'webhook-id': 'm-1',
      'webhook-timestamp': `${SECONDS}`,
      'webhook-signature': new Webhook(OTHER_SECRET).sign('m-1', new Date(SECONDS * 1_000), body),
    };
    expect(refusal(signed, {}, OTHER_SECRET, body)).toBeUndefined();
    expect(refusal(signed, {}, SECRET, body)).toBe('NO_MATCHING_SIGNATURE');
  });

  it('accepts one of several secrets, and one of several signatures', () => {
    expect(refusal(HEADERS, {}, [OTHER_SECRET, SECRET])).toBeUndefined();
    const several = `${WRONG} v2,x v1a,x ${HEADERS['webhook-signature']} ${WRONG}`;
    expect(refusal({ ...HEADERS, 'webhook-signature': several })).toBeUndefined();
    const repeated = [WRONG, HEADERS['webhook-signature']];
    expect(refusal({ ...HEADERS, 'webhook-signature': repeated })).toBeUndefined();
  });

  it('takes headers in any case, in arrays, and as `Headers` of fetch', () => {
    const upper: Record<string, string[]> = {};
    for (const [name, value] of Object.entries(HEADERS)) upper[name.toUpperCase()] = [value];
    expect(refusal(upper)).toBeUndefined();
    expect(refusal(new Headers(HEADERS))).toBeUndefined();
    expect(refusal(new Headers({ ...HEADERS, 'webhook-id': 'm-1' }))).toBe('NO_MATCHING_SIGNATURE');
  });

  it('takes the `Headers` of another `fetch`, which are read as pairs', () => {
    expect(refusal(new UndiciHeaders(HEADERS) as unknown as Headers)).toBeUndefined();
  });

  it('refuses an id with a full stop, the end of which could be passed off as the time of signing', () => {
    // The signed webhook had the id `msg`, an earlier time, and a body that begins with this time.
    const [id, body] = [`msg.${SECONDS - 1}`, '{"test":1}'];
    const signature = new Webhook(SECRET).sign('msg', new Date((SECONDS - 1) * 1_000), `${SECONDS}.${body}`);
    const shifted = {
      'webhook-id': id,
      'webhook-timestamp': `${SECONDS}`,
      'webhook-signature': signature,
    };
    expect(new Webhook(SECRET).sign(id, new Date(SECONDS * 1_000), body)).toBe(signature);
    expect(refusal(shifted, {}, SECRET, body)).toBe('INVALID_ID');
  });

  it.each(Object.keys(HEADERS))('fails if %s is not a text', (name) => {
    for (const value of [42, {}, [42], [null]]) {
      const headers = { ...HEADERS, [name]: value } as unknown as ReceivedHeaders;
      expect(() => refusal(headers)).toThrow(InvalidHeadersError);
      expect(() => refusal(headers)).toThrow(`\`${name}\``);
    }
    expect(refusal({ ...HEADERS, 'content-length': 20 } as unknown as ReceivedHeaders)).toBeUndefined();
  });

  it.each([[undefined], [null], ['webhook-id']])('fails for %j in place of headers', (headers) => {
    expect(() => refusal(headers as unknown as ReceivedHeaders)).toThrow(InvalidHeadersError);
  });

  it.each(Object.keys(HEADERS))('refuses a request if %s is missing, empty or ambiguous', (name) => {
    expect(refusal({ ...HEADERS, [name]: undefined })).toBe('MISSING_HEADERS');
    expect(refusal({ ...HEADERS, [name]: [] })).toBe('MISSING_HEADERS');
    expect(refusal({ ...HEADERS, [name]: '' })).toBe('MISSING_HEADERS');
    const doubled = { ...HEADERS, [name]: ['a', 'b'] };
    expect(refusal(doubled)).toBe(name === 'webhook-signature' ? 'NO_MATCHING_SIGNATURE' : 'MISSING_HEADERS');
  });

  it.each([
    ['another body', { body: `${BODY} ` }],
    ['another id', { headers: { 'webhook-id': 'msg_other' } }],
    ['another time', { headers: { 'webhook-timestamp': `${SECONDS + 1}` } }],
    ['another secret', { secret: OTHER_SECRET }],
    ['a wrong signature', { headers: { 'webhook-signature': WRONG } }],
    ['a cut signature', { headers: { 'webhook-signature': HEADERS['webhook-signature'].slice(0, 8) } }],
    ['a signature without a version', { headers: { 'webhook-signature': HEADERS['webhook-signature'].slice(3) } }],
    ['a signature of another version', { headers: { 'webhook-signature': HEADERS['webhook-signature'].replace('v1', 'v2') } }],
    ['a version without a signature', { headers: { 'webhook-signature': 'v1,' } }],
  ])('refuses %s', (_, { headers = {}, body = BODY, secret = SECRET }: {
    headers?: Record<string, string>; body?: string; secret?: string;
  }) => {
    expect(refusal({ ...HEADERS, ...headers }, {}, secret, body)).toBe('NO_MATCHING_SIGNATURE');
  }); // prettier-ignore

  it.each(['hello', '-1', '1.5', '0x60379732', ` ${SECONDS}`, '1e9', '9'.repeat(13)])(
    'refuses the timestamp %j',
    (timestamp) => {
      expect(refusal({ ...HEADERS, 'webhook-timestamp': timestamp })).toBe('INVALID_TIMESTAMP');
    },
  );

  it.each<[number, number | undefined, string | undefined]>([
    [300, undefined, undefined],
    [301, undefined, 'TIMESTAMP_TOO_OLD'],
    [-300, undefined, undefined],
    [-301, undefined, 'TIMESTAMP_TOO_NEW'],
    [10, 10, undefined],
    [11, 10, 'TIMESTAMP_TOO_OLD'],
    [1, 0, 'TIMESTAMP_TOO_OLD'],
    [1_000_000, Infinity, undefined],
    [1, NaN, 'TIMESTAMP_TOO_OLD'],
  ])('judges a request that is %i s old, with a tolerance of %s s: %s', (age, tolerance, expected) => {
    jest.spyOn(Date, 'now').mockReturnValue((SECONDS + age) * 1_000);
    const options = tolerance === undefined ? {} : { tolerance };
    expect(refusal(HEADERS, options)).toBe(expected);
  });

  it.each([[''], ['whsec_'], ['top-secret'], [[]], [[SECRET, 'top-secret']]])(
    'fails for the secret %j, and does not reveal it',
    (secrets) => {
      const verify = (): void => {
        verifyStandardWebhook(BODY, HEADERS, secrets);
      };
      expect(verify).toThrow(InvalidSecretError);
      expect(verify).not.toThrow(/top-secret|MfKQ9r8G/);
    },
  );
});
