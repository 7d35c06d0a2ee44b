import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { HmacKey } from '../../../src/signing/hmac-key.js';
import type { DeliveryResult } from '../../../src/destinations/destination.js';
import { WebhookClient, type WebhookClientOptions } from '../../../src/webhooks/http/webhook-client.js';
import { hashUrl } from '../../../src/options/webhook-url.js';
import type {
  WebhooksDestination,
  WebhooksDestinationOptions,
} from '../../../src/webhooks/webhooks-destination.js';
import { AnalyticsClosedError, verifySignature, verifyStandardWebhook } from '../../../src/index.js';
import { deliverOne } from '../../support/deliver-one.js';
import { createCertificates, type Certificates } from '../../support/certificates.js';
import { Receiver, type ReceiverOptions } from '../../support/receiver.js';
import { messageIn } from '../../support/received-message.js';
import { webhooksDestination } from '../../support/webhooks-destination.js';

const STANDARD_KEY = Buffer.alloc(32, 7);

describe('a test event', () => {
  let certificates: Certificates;
  const closing: (() => Promise<unknown>)[] = [];
  let client: WebhookClient;

  beforeAll(() => {
    certificates = createCertificates();
  });

  beforeEach(() => {
    client = connect();
  });

  afterEach(async () => {
    await Promise.all(closing.splice(0).map((close) => close()));
  });

  /** Names resolve to the loopback interface, except for names that do not exist. */
  function connect(options: Partial<WebhookClientOptions> = {}): WebhookClient {
    const connected = new WebhookClient({
      connections: 1,
      allowPrivateNetwork: true,
      ca: certificates.ca,
      lookup: (hostname, _options, callback) => {
        const error = Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
        if (hostname.endsWith('.invalid')) process.nextTick(callback, error, []);
        else process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }]);
      },
      ...options,
    });
    closing.push(() => connected.close());
    return connected;
  }

  async function receive(options: ReceiverOptions = {}): Promise<Receiver> {
    const receiver = await Receiver.start(options);
    closing.push(() => receiver.close());
    return receiver;
  }

  function destination(
    urls: string[],
    options: Partial<WebhooksDestinationOptions> = {},
    through = client,
  ): WebhooksDestination {
    return webhooksDestination(through, urls, { sharedSecret: 'teehee', ...options });
  }

  function deliver(to: WebhooksDestination): Promise<DeliveryResult | undefined> {
    return deliverOne(to, { id: 'm-1', body: '{}', outcomes: [] });
  }

  it('is one signed track call to each URL, which is marked as a test', async () => {
    const [one, two] = [await receive(), await receive()];
    const options = {
      standardWebhooks: { keys: [new HmacKey('sha256', STANDARD_KEY)] },
      headers: { 'X-Env': 'test' },
    };
    await destination([one.url('/a'), two.url('/b')], options).sendTest();
    expect([one, two].map(({ requests }) => requests.map(({ url }) => url))).toEqual([['/a'], ['/b']]);
    const [request] = one.requests;
    if (request === undefined) throw new Error('Nothing was received.');
    expect(verifySignature(request.body, request.headers['x-signature'], 'teehee')).toBe(true);
    verifyStandardWebhook(request.body, request.headers, STANDARD_KEY.toString('base64'));
    expect(request.headers['x-env']).toBe('test');
    const message = messageIn(request);
    expect(message).toMatchObject({ type: 'track', event: 'Test Event', properties: { test: true } });
    expect(message).not.toHaveProperty('userId');
    expect(request.headers['webhook-id']).toBe(message.messageId);
    expect(two.requests[0]?.body).toEqual(request.body);
  });

  it('has a messageId of its own each time', async () => {
    const receiver = await receive();
    const to = destination([receiver.url()]);
    await to.sendTest();
    await to.sendTest();
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  });

  it('returns the answer of each URL, in the order of the URLs', async () => {
    const good = await receive({ answer: [{ status: 200, body: 'thanks' }] });
    const gone = await receive({ answer: [410] });
    const away = await receive({ answer: [503] });
    const silent = await receive({ answer: [() => undefined] });
    const urls = [good, gone, away, silent].map((receiver) => receiver.url('/t0ken'));
    const results = await destination([...urls, 'http://nowhere.invalid/'], { timeout: 5_000 }).sendTest();
    expect(results).toMatchObject([
      { class: 'delivered', status: 200, excerpt: 'thanks' },
      { class: 'permanent', status: 410 },
      { class: 'retry', status: 503 },
      { class: 'retry', error: 'TIMEOUT' },
      { class: 'retry', error: 'DNS_FAILED' },
    ]);
    expect(results.map(({ url }) => url).slice(0, 4)).toEqual(urls.map((url) => hashUrl(new URL(url))));
    expect(results[0]?.origin).toBe(`http://127.0.0.1:${good.port}`);
    expect(JSON.stringify(results)).not.toMatch(/t0ken|teehee/);
  });

  it('returns how long each phase took: name, connection, TLS and first byte', async () => {
    const receiver = await receive({ tls: certificates.good });
    const named = `https://localhost:${receiver.port}/`;
    const [result] = await destination([named]).sendTest();
    expect(Object.keys(result?.phases ?? {})).toEqual(['dns', 'connect', 'tls', 'firstByte']);
    for (const milliseconds of Object.values(result?.phases ?? {})) {
      expect(milliseconds).toBeGreaterThanOrEqual(0);
      expect(milliseconds).toBeLessThan(5_000);
    }
  });

  it('returns only the phases that took place', async () => {
    const plain = await receive();
    const untrusted = await receive({ tls: certificates.selfSigned });
    const silent = await receive({ answer: [() => undefined] });
    const closed = await receive();
    const refused = closed.url();
    await closed.close();
    const urls = [plain.url(), untrusted.url(), silent.url(), refused, 'https://nowhere.invalid/'];
    const results = await destination(urls, { timeout: 5_000 }).sendTest();
    expect(results.map(({ error, phases }) => [error, Object.keys(phases).join()])).toEqual([
      [undefined, 'connect,firstByte'],
      ['TLS_SELF_SIGNED', 'connect'],
      ['TIMEOUT', 'connect'],
      ['ECONNREFUSED', ''],
      ['DNS_FAILED', ''],
    ]);
    expect(untrusted.requests).toEqual([]);
  });

  it('counts an informational response as the first byte', async () => {
    const begunAt = performance.now();
    const receiver = await receive({
      answer: [(response) => {
        response.writeEarlyHints({ link: '</a>; rel=preload' });
        // Far later than the informational response, however long that has taken.
        setTimeout(() => response.writeHead(200).end(), 400 + 3 * (performance.now() - begunAt));
      }],
    }); // prettier-ignore
    const [result] = await destination([receiver.url()]).sendTest();
    expect(result?.status).toBe(200);
    expect(result?.duration).toBeGreaterThanOrEqual(300);
    expect(result?.phases.firstByte).toBeLessThan((result?.duration ?? 0) / 2);
  });

  it('goes out at once on a connection of its own while all others are in use', async () => {
    const receiver = await receive({ answer: [() => undefined, 200] });
    const to = destination([receiver.url()]);
    const hung = deliver(to);
    await receiver.received(1);
    const [result] = await to.sendTest();
    expect(result).toMatchObject({ class: 'delivered' });
    expect(receiver.connections).toBe(2);
    await client.close();
    expect(await hung).toBeUndefined();
  });

  it('closes its connection afterwards', async () => {
    let closed: Promise<unknown> | undefined;
    const receiver = await receive({
      keepAliveTimeout: 0,
      answer: [(response, socket) => {
        closed = new Promise((resolve) => socket.once('close', resolve));
        response.writeHead(200, { 'keep-alive': 'timeout=600' }).end();
      }],
    }); // prettier-ignore
    await destination([receiver.url()]).sendTest();
    await closed;
    // A connection that is kept for the next request would stay open for thirty seconds.
  }, 20_000);

  it('is sent while the breaker is open, and leaves it open', async () => {
    const receiver = await receive({ answer: (_request, index) => (index < 5 ? 503 : 200) });
    const to = destination([receiver.url()]);
    for (let index = 0; index < 5; index++) await deliver(to);
    expect(await deliver(to)).toMatchObject({ class: 'deferred' });
    expect(await to.sendTest()).toMatchObject([{ class: 'delivered' }]);
    expect(await deliver(to)).toMatchObject({ class: 'deferred' });
    expect(receiver.requests).toHaveLength(6);
  });

  it('does not open the breaker, whatever the answer', async () => {
    const receiver = await receive({ answer: [503, 503, 503, 503, 503, 503, 200] });
    const to = destination([receiver.url()]);
    for (let index = 0; index < 6; index++) await to.sendTest();
    expect(await deliver(to)).toMatchObject({ class: 'delivered' });
  });

  it('is not sent to a private address that is not allowed', async () => {
    const receiver = await receive();
    const guarded = connect({ allowPrivateNetwork: false });
    const urls = [receiver.url(), `http://rebind.test:${receiver.port}/`];
    expect(await destination(urls, {}, guarded).sendTest()).toMatchObject([
      { class: 'permanent', error: 'ADDRESS_REFUSED', phases: {} },
      { class: 'permanent', error: 'ADDRESS_REFUSED', phases: {} },
    ]);
    expect(receiver.connections).toBe(0);
  });

  it('fails with ANALYTICS_CLOSED if the application shuts down meanwhile or has shut down', async () => {
    const receiver = await receive({ answer: [() => undefined] });
    const to = destination([receiver.url()]);
    const sent = to.sendTest();
    const failed = expect(sent).rejects.toThrow(AnalyticsClosedError);
    await receiver.received(1);
    await client.close();
    await failed;
    await expect(to.sendTest()).rejects.toThrow(AnalyticsClosedError);
  });
});
