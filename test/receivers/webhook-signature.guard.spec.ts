import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  Body,
  Controller,
  HttpCode,
  type INestApplication,
  Injectable,
  Module,
  Post,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { HmacKey } from '../../src/signing/hmac-key.js';
import { WebhookClient } from '../../src/webhooks/http/webhook-client.js';
import type {
  WebhooksDestination,
  WebhooksDestinationOptions,
} from '../../src/webhooks/webhooks-destination.js';
import type { UrlOutcome } from '../../src/queue/batch-job.js';
import { InvalidSecretError, webhookSignatureGuard } from '../../src/index.js';
import { deliverOne } from '../support/deliver-one.js';
import { LogLines } from '../support/log-lines.js';
import { webhooksDestination } from '../support/webhooks-destination.js';

const KEY_BYTES = Buffer.alloc(32, 7);
const KEY = new HmacKey('sha256', KEY_BYTES);
const OTHER_KEY = new HmacKey('sha256', Buffer.alloc(32, 8));
const STANDARD_SECRET = `whsec_${KEY_BYTES.toString('base64')}`;
// No serialiser would write this JSON in the same way again.
const BODY = '{ "event": "Zo\\u00eb 🚀",  "n": 1.0 }';

/** Express, which has no types of its own. */
const express = createRequire(import.meta.url)('express') as {
  json: (options: { limit: string }) => (...args: unknown[]) => void;
};

const signatureOfNothing = createHmac('sha1', 'teehee').update('').digest('hex');

@Injectable()
class Secrets {
  shared = 'teehee';
  standard = [STANDARD_SECRET];

  find(): Promise<string> {
    return Promise.resolve(this.shared);
  }
}

@Controller()
class ReceiverController {
  readonly received: unknown[] = [];

  @UseGuards(webhookSignatureGuard({ sharedSecret: ['newer', 'teehee'] }))
  @HttpCode(200)
  @Post('by-value')
  byValue(@Body() body: unknown): void {
    this.received.push(body);
  }

  @UseGuards(webhookSignatureGuard({ sharedSecret: (_, app) => app.get(Secrets, { strict: false }).find() }))
  @HttpCode(200)
  @Post('by-function')
  byFunction(@Body() body: unknown): void {
    this.received.push(body);
  }

  @UseGuards(webhookSignatureGuard({ standardWebhooks: { secret: STANDARD_SECRET, tolerance: 60 } }))
  @HttpCode(200)
  @Post('standard')
  standard(@Body() body: unknown): void {
    this.received.push(body);
  }

  @UseGuards(
    webhookSignatureGuard({
      sharedSecret: 'teehee',
      standardWebhooks: { secret: (_, app) => app.get(Secrets, { strict: false }).standard },
    }),
  )
  @HttpCode(200)
  @Post('both')
  both(@Body() body: unknown): void {
    this.received.push(body);
  }
}

@Module({ controllers: [ReceiverController], providers: [Secrets] })
class ReceiverModule {}

const PLATFORMS = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const;

describe.each(PLATFORMS)('the guard of a receiver on %s', (platform, createAdapter) => {
  let client: WebhookClient;
  let log: LogLines;
  let app: INestApplication;
  let url: string;

  beforeEach(() => {
    client = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    log = new LogLines();
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await client.close();
    await app.close();
  });

  async function start(bodies: { rawBody?: boolean | undefined; bodyParser?: boolean }): Promise<void> {
    const options = { logger: log, ...bodies };
    app = await NestFactory.create(ReceiverModule, createAdapter(), options);
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  }

  const received = (): unknown[] => app.get(ReceiverController).received;

  function destination(path: string, options: Partial<WebhooksDestinationOptions>): WebhooksDestination {
    return webhooksDestination(client, [new URL(path, url).href], options);
  }

  async function deliver(path: string, options: Partial<WebhooksDestinationOptions>): Promise<UrlOutcome> {
    const result = await deliverOne(destination(path, options), { id: 'm-1', body: BODY, outcomes: [] });
    const [outcome] = result?.outcomes ?? [];
    if (outcome === undefined) throw new Error('There was no attempt.');
    return outcome;
  }

  describe('with raw bodies', () => {
    beforeEach(() => start({ rawBody: true }));

    it.each(['by-value', 'by-function', 'both'])(
      'lets in deliveries that are signed with the shared secret (%s)',
      async (path) => {
        const signed = { sharedSecret: 'teehee', standardWebhooks: { keys: [KEY] } };
        expect(await deliver(path, signed)).toMatchObject({ class: 'delivered', status: 200 });
        expect(received()).toEqual([{ event: 'Zoë 🚀', n: 1 }]);
      },
    );

    it.each(['by-value', 'by-function', 'standard', 'both'])(
      'answers 401 to deliveries that are unsigned or signed with another secret (%s)',
      async (path) => {
        const forged = { sharedSecret: 'Teehee', standardWebhooks: { keys: [OTHER_KEY] } };
        expect(await deliver(path, {})).toMatchObject({ class: 'permanent', status: 401 });
        expect(await deliver(path, forged)).toMatchObject({ class: 'permanent', status: 401 });
        expect(received()).toEqual([]);
      },
    );

    it('lets in deliveries that are signed as Standard Webhooks', async () => {
      const rotated = { standardWebhooks: { keys: [OTHER_KEY, KEY] } };
      expect(await deliver('standard', rotated)).toMatchObject({ class: 'delivered', status: 200 });
      expect(received()).toHaveLength(1);
    });

    it('says what is wrong with a Standard Webhook, such as its age', async () => {
      const now = Date.now();
      jest.spyOn(Date, 'now').mockImplementation(() => now);
      const signed = destination('standard', { standardWebhooks: { keys: [KEY] } });
      const [explained] = signed.explain({ messageId: 'm-1', body: BODY });
      const headers = explained?.headers.filter(([name]) => name !== 'connection');
      const request = { method: 'POST', headers: headers ?? [], body: BODY };
      jest.spyOn(Date, 'now').mockImplementation(() => now + 62_000);
      const response = await fetch(`${url}/standard`, request);
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({
        message: expect.stringContaining('signed too long ago'),
      });
      jest.spyOn(Date, 'now').mockImplementation(() => now + 59_000);
      expect((await fetch(`${url}/standard`, request)).status).toBe(200);
    });

    it('requires both signatures if both are configured', async () => {
      expect(await deliver('both', { sharedSecret: 'teehee' })).toMatchObject({ status: 401 });
      expect(await deliver('both', { standardWebhooks: { keys: [KEY] } })).toMatchObject({ status: 401 });
      expect(received()).toEqual([]);
    });

    it('answers requests without a body, or with a body that is not parsed, without an error of its own', async () => {
      const empty = await fetch(`${url}/by-value`, { method: 'POST' });
      expect(empty.status).toBe(401);
      const text = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: BODY };
      expect([401, 415]).toContain((await fetch(`${url}/by-value`, text)).status);
      expect(log.errors).toEqual([]);
    });

    it.each([
      'text/plain',
      'application/octet-stream',
      'application/vnd.evil+json',
      'application/json-patch+json',
      'application/jsonp',
      'application/json, text/plain',
      undefined,
    ])(
      'refuses a body that was not kept (%s), even with the valid signature of an empty text',
      async (type) => {
        const signed = destination('both', { sharedSecret: 'teehee', standardWebhooks: { keys: [KEY] } });
        const [explained] = signed.explain({ messageId: 'm-1', body: '' });
        const kept = explained?.headers.filter(([name]) => /signature|webhook-/i.test(name)) ?? [];
        const headers = type === undefined ? kept : [...kept, ['content-type', type] as [string, string]];
        for (const path of ['by-value', 'standard', 'both']) {
          const body = new Blob(['evil']);
          expect([401, 415]).toContain(
            (await fetch(`${url}/${path}`, { method: 'POST', headers, body })).status,
          );
        }
        expect(received()).toEqual([]);
        expect(log.errors).toEqual([]);
      },
    );

    it.each([
      'application/x-www-form-urlencoded',
      ...(platform === 'Express' ? ['application/json; charset=utf-7'] : []),
    ])('refuses signed bytes that would be parsed as another text than was signed (%s)', async (type) => {
      const body = '{"event":"Noted","properties":{"note":"+AGE-&type=delete&userId=victim&rest="}}';
      const signed = destination('both', { sharedSecret: 'teehee', standardWebhooks: { keys: [KEY] } });
      const [explained] = signed.explain({ messageId: 'm-1', body });
      const kept = explained?.headers.filter(([name]) => /signature|webhook-/i.test(name)) ?? [];
      const headers: [string, string][] = [...kept, ['content-type', type]];
      for (const path of ['by-value', 'standard', 'both']) {
        const answer = await fetch(`${url}/${path}`, { method: 'POST', headers, body: new Blob([body]) });
        expect(answer.status).toBe(401);
      }
      expect(received()).toEqual([]);
      expect(log.errors).toEqual([]);
    });

    it.each(['application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'Application/JSON'])(
      'lets in signed JSON whose type is %s',
      async (type) => {
        const signature = createHmac('sha1', 'teehee').update(BODY).digest('hex');
        const headers = { 'content-type': type, 'x-signature': signature };
        const request = { method: 'POST', headers, body: new Blob([BODY]) };
        expect((await fetch(`${url}/by-value`, request)).status).toBe(200);
        expect(received()).toEqual([{ event: 'Zoë 🚀', n: 1 }]);
      },
    );

    it('answers 500 if its secret is missing, so that the delivery is repeated', async () => {
      Object.assign(app.get(Secrets), { shared: '', standard: [] });
      const signed = { sharedSecret: 'teehee', standardWebhooks: { keys: [KEY] } };
      expect(await deliver('by-function', signed)).toMatchObject({ class: 'retry', status: 500 });
      expect(await deliver('both', signed)).toMatchObject({ class: 'retry', status: 500 });
      expect(log.errors.join()).toContain('Expected `sharedSecret` to be a non-empty string');
      expect(log.errors.join()).toContain('Expected `standardWebhooks.secret` to be');
      expect(received()).toEqual([]);
    }); // prettier-ignore
  });

  it.each<[boolean | undefined, boolean]>([
    [undefined, true],
    [false, true],
    [true, false],
  ])(
    'says what to do if raw bodies are not kept (rawBody %j, bodyParser %j)',
    async (rawBody, bodyParser) => {
      await start({ rawBody, bodyParser });
      const outcome = await deliver('by-value', { sharedSecret: 'teehee' });
      expect(outcome).toMatchObject({ class: 'retry', status: 500 });
      const chunked = new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.from(BODY));
          controller.close();
        },
      });
      const headers = { 'content-type': 'application/json', 'x-signature': signatureOfNothing };
      const init = { method: 'POST', headers, body: chunked, duplex: 'half' };
      expect((await fetch(`${url}/by-value`, init as RequestInit)).status).toBe(500);
      expect(log.errors.join()).toContain('NestFactory.create(AppModule, { rawBody: true })');
      expect(received()).toEqual([]);
    },
  );
});

describe('the guard of a receiver on Express with its own limit for bodies', () => {
  let app: NestExpressApplication;
  let log: LogLines;

  beforeEach(async () => {
    log = new LogLines();
    app = await NestFactory.create(ReceiverModule, { logger: log, rawBody: true });
  });
  afterEach(() => app.close());

  /** Resolves to the status of the answer to a signed webhook. */
  async function deliver(): Promise<number> {
    await app.listen(0, '127.0.0.1');
    const signature = createHmac('sha1', 'teehee').update(BODY).digest('hex');
    const headers = { 'content-type': 'application/json', 'x-signature': signature };
    return (await fetch(`${await app.getUrl()}/by-value`, { method: 'POST', headers, body: BODY })).status;
  }

  it('says what to use in place of a parser that Nest takes for its own and that keeps no bytes', async () => {
    app.use(express.json({ limit: '1mb' }));
    expect(await deliver()).toBe(500);
    expect(log.errors.join()).toContain("app.useBodyParser('json', { limit })");
  });

  it('lets deliveries in if its advice is followed', async () => {
    app.useBodyParser('json', { limit: '1mb' });
    expect(await deliver()).toBe(200);
  });
});

describe('a guard', () => {
  it.each<[string, Parameters<typeof webhookSignatureGuard>[0]]>([
    ['no secret at all', {}],
    ['an empty secret', { sharedSecret: '' }],
    ['no secrets', { sharedSecret: [] }],
    ['an empty one of several', { sharedSecret: ['teehee', ''] }],
    ['a plain text for Standard Webhooks', { standardWebhooks: { secret: 'teehee' } }],
    ['an empty secret beside a good one', { sharedSecret: '', standardWebhooks: { secret: STANDARD_SECRET } }],
    ['an unset variable beside a good one', { sharedSecret: undefined, standardWebhooks: { secret: STANDARD_SECRET } }],
  ])('cannot be made with %s', (_, options) => {
    expect(() => webhookSignatureGuard(options)).toThrow(InvalidSecretError);
    expect(() => webhookSignatureGuard(options)).not.toThrow(/teehee/);
  }); // prettier-ignore
});
