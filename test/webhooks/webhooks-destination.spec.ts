import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { DeliveryScheduler } from '../../src/delivery/delivery-scheduler.js';
import { EventLoopBudget } from '../../src/delivery/event-loop-budget.js';
import { LocalRateLimitStore } from '../../src/delivery/rate-limits/rate-limit-store.js';
import type { DeliveryResult } from '../../src/destinations/destination.js';
import type { QueuedMessage, UrlOutcome } from '../../src/queue/batch-job.js';
import { NameLookupBusyError } from '../../src/errors/delivery.errors.js';
import { WebhookClient } from '../../src/webhooks/http/webhook-client.js';
import { hashUrl } from '../../src/options/webhook-url.js';
import type {
  WebhooksDestination,
  WebhooksDestinationOptions,
} from '../../src/webhooks/webhooks-destination.js';
import { deliverOne, firstAttempt } from '../support/deliver-one.js';
import type { Answer, Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { webhooksDestination } from '../support/webhooks-destination.js';

const BODY = '{"version":1,"type":"track","userId":"019mr8mf4r","event":"Zoë 🚀"}';

function message(outcomes: UrlOutcome[] = []): QueuedMessage {
  return { id: 'm-1', body: BODY, outcomes };
}

function scheduler(): DeliveryScheduler {
  return new DeliveryScheduler({
    requests: 64,
    eventLoop: new EventLoopBudget(),
    connections: 64,
    batches: 16,
    jobs: 64,
    rateLimits: new LocalRateLimitStore(),
    promote: () => Promise.resolve(),
  });
}

describe('the webhooks destination', () => {
  const stage = new Stage();
  let client: WebhookClient;

  beforeEach(() => {
    client = new WebhookClient({ connections: 8, allowPrivateNetwork: true });
  });

  afterEach(() => client.close());

  const receive = (...answer: Answer[]): Promise<Receiver> => stage.receiver({ answer });

  function destination(
    urls: string[],
    options: Partial<WebhooksDestinationOptions> = {},
    through = client,
  ): WebhooksDestination {
    return webhooksDestination(through, urls, options);
  }

  /** Delivers a message, and expects that the delivery is not aborted. */
  async function deliver(to: WebhooksDestination, what = message()): Promise<DeliveryResult> {
    const delivered = await deliverOne(to, what);
    if (delivered === undefined) throw new Error('The delivery was aborted.');
    return delivered;
  }

  it('has the name Webhooks, its id and its retry window', () => {
    expect(destination([])).toMatchObject({ id: 'crm', name: 'Webhooks', retryWindow: 14_400_000 });
  });

  it('counts a URL as neither down nor up if the look-up of its name did not get its turn', async () => {
    let isBusy = true;
    const busy = new WebhookClient({
      connections: 1,
      allowPrivateNetwork: true,
      lookup: (_name, _options, callback) => {
        if (isBusy) process.nextTick(callback, new NameLookupBusyError(), []);
        else process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }]);
      },
    });
    const { port } = await receive(200);
    const url = `http://hooks.test:${port}/`;
    const to = destination([url], {}, busy);
    for (let n = 0; n < 8; n++) {
      expect(await deliver(to)).toMatchObject({ class: 'retry', outcomes: [{ error: 'DNS_BUSY' }] });
    }
    isBusy = false;
    expect(await deliver(to)).toMatchObject({ class: 'delivered' });
    await busy.close();
  });

  it('sends exactly the headers of the contract, and the body byte for byte', async () => {
    const receiver = await receive(200);
    const headers = { 'X-Env': 'prod', Authorization: 'Bearer t' };
    await deliver(destination([receiver.url('/events')], { headers, sharedSecret: 'teehee' }));
    const [request] = receiver.requests;
    expect(request?.body.toString()).toBe(BODY);
    expect(request?.rawHeaders).toEqual([
      ...['host', `127.0.0.1:${receiver.port}`],
      ...['connection', 'keep-alive'],
      ...['X-Env', 'prod'],
      ...['Authorization', 'Bearer t'],
      ...['User-Agent', 'NestAnalytics/1.0'],
      ...['Content-Type', 'application/json'],
      ...['Accept-Encoding', 'identity'],
      ...['webhook-id', 'm-1'],
      ...['X-Signature', createHmac('sha1', 'teehee').update(Buffer.from(BODY)).digest('hex')],
      ...['content-length', `${Buffer.byteLength(BODY)}`],
    ]);
  });

  it('sends every message of a large batch with its own id and body, even beside messages that are not sent', async () => {
    const receiver = await receive(200);
    const url = receiver.url();
    const refused: UrlOutcome = {
      url: hashUrl(new URL(url)),
      class: 'permanent',
      attempt: 1,
      at: 0,
      duration: 0,
    };
    const isRefused = (index: number): boolean => index % 16 === 0 || index % 7 === 0;
    const messages = Array.from({ length: 100 }, (_, index) => ({
      id: `m-${index}`,
      body: `{"n":${index}}`,
      outcomes: isRefused(index) ? [refused] : [],
    }));
    await scheduler().deliver(destination([url], { sharedSecret: 'teehee' }), messages, firstAttempt());

    const sent = receiver.requests.map(({ headers, body }) => [
      headers['webhook-id'],
      body.toString(),
      headers['x-signature'],
    ]);
    const expected = messages
      .filter((_, index) => !isRefused(index))
      .map(({ id, body }) => [id, body, createHmac('sha1', 'teehee').update(body).digest('hex')]);
    expect(sent.sort()).toEqual(expected.sort());
  });

  it('signs nothing without a shared secret', async () => {
    const receiver = await receive(200);
    await deliver(destination([receiver.url()]));
    expect(receiver.requests[0]?.headers).not.toHaveProperty('x-signature');
  });

  it.each<[string, Answer, Partial<UrlOutcome>]>([
    ['200', { status: 200, body: 'thanks' }, { class: 'delivered', status: 200, excerpt: 'thanks' }],
    ['204', 204, { class: 'delivered', status: 204 }],
    ['301', 301, { class: 'permanent', status: 301 }],
    ['404', { status: 404, body: 'a\0b' }, { class: 'permanent', status: 404, excerpt: 'a\uFFFDb' }],
    ['408', 408, { class: 'retry', status: 408 }],
    ['429', 429, { class: 'retry', status: 429 }],
    ['503', 503, { class: 'retry', status: 503 }],
    ['silence', () => undefined, { class: 'retry', error: 'TIMEOUT' }],
    ['a reset', (_response, socket) => { socket.resetAndDestroy(); }, { class: 'retry', error: 'ECONNRESET' }],
  ])('records the outcome of %s', async (_, answer, expected) => {
    const receiver = await receive(answer);
    const url = receiver.url('/t0ken');
    const before = Date.now();
    const result = await deliver(destination([url], { timeout: 300 }), message());
    const [outcome] = result.outcomes;
    expect(result.class).toBe(expected.class);
    expect(outcome).toEqual({
      url: hashUrl(new URL(url)),
      attempt: 1,
      at: outcome?.at,
      duration: outcome?.duration,
      ...expected,
    });
    expect(outcome?.at).toBeGreaterThanOrEqual(before);
    expect(outcome?.duration).toBeGreaterThanOrEqual(0);
    expect(JSON.stringify(result)).not.toMatch(/t0ken|127\.0\.0\.1/);
  }); // prettier-ignore

  it('tries all URLs at the same time', async () => {
    const waiting: (() => void)[] = [];
    // Answers only once all three requests have arrived.
    const together: Answer = (response) => {
      waiting.push(() => response.writeHead(200).end());
      if (waiting.length === 3) for (const answer of waiting) answer();
    };
    const receiver = await receive(together);
    const urls = ['/a', '/b', '/c'].map((path) => receiver.url(path));
    const { outcomes } = await deliver(destination(urls));
    expect(outcomes.map((outcome) => outcome.class)).toEqual(['delivered', 'delivered', 'delivered']);
    expect(outcomes.map(({ url }) => url)).toEqual(urls.map((url) => hashUrl(new URL(url))));
  });

  it('is done when one URL delivers, and records the answers of the others', async () => {
    const [bad, good, away] = [await receive(404), await receive(200), await receive(503)];
    const result = await deliver(destination([bad, good, away].map((receiver) => receiver.url())));
    expect(result.class).toBe('delivered');
    expect(result.outcomes.map(({ status }) => status)).toEqual([404, 200, 503]);

    const again = await deliver(destination([away.url(), good.url()]), message(result.outcomes));
    expect(again.class).toBe('delivered');
    expect(away.requests).toHaveLength(1);
    expect(good.requests).toHaveLength(1);
  });

  it('retries only the URLs whose latest outcome was retry, and URLs that were never tried', async () => {
    const [gone, away, added] = [await receive(404), await receive(503), await receive(500)];
    const first = await deliver(destination([gone.url(), away.url()]));
    expect(first.class).toBe('retry');

    const urls = [gone, away, added].map((receiver) => receiver.url());
    const second = await deliver(destination(urls), message(first.outcomes));
    expect(second.class).toBe('retry');
    expect(second.outcomes.map(({ status, attempt }) => [status, attempt])).toEqual([
      [404, 1],
      [503, 2],
      [500, 1],
    ]);
    expect([gone, away, added].map(({ requests }) => requests.length)).toEqual([1, 2, 1]);
  });

  it('sends a retry with the same id, body and signature', async () => {
    const receiver = await receive(503, 200);
    const to = destination([receiver.url()], { sharedSecret: 'teehee' });
    const { outcomes } = await deliver(to);
    await deliver(to, message(outcomes));
    const [first, second] = receiver.requests;
    expect(second).toEqual(first);
  });

  it('fails for good if every URL refuses', async () => {
    const urls = [await receive(404), await receive(410)].map((receiver) => receiver.url());
    const result = await deliver(destination(urls));
    expect(result.class).toBe('permanent');
    expect(result.outcomes.map(({ status }) => status)).toEqual([404, 410]);
  });

  it('forgets the outcomes of URLs that are no longer configured', async () => {
    const [away, gone] = [await receive(503), await receive(404)];
    const { outcomes } = await deliver(destination([away.url(), gone.url()]));
    const result = await deliver(destination([gone.url()]), message(outcomes));
    expect(result).toMatchObject({ class: 'permanent', outcomes: [{ status: 404 }] });
  });

  it('reports the largest Retry-After of the URLs that are retried', async () => {
    const later = (status: number, value: string): Answer => ({ status, headers: { 'retry-after': value } });
    const answers = [later(503, '7'), later(429, '9'), later(503, 'soon'), later(404, '99')];
    const urls = await Promise.all(answers.map(async (answer) => (await receive(answer)).url()));
    expect(await deliver(destination(urls))).toMatchObject({ class: 'retry', retryAfter: 9_000 });

    const plain = await deliver(destination([(await receive(503)).url()]));
    expect(plain).not.toHaveProperty('retryAfter');
  });

  it('retries the statuses that the option names', async () => {
    const urls = [(await receive(404)).url()];
    expect((await deliver(destination(urls, { retryStatuses: [404] }))).class).toBe('retry');
  });

  it('begins a batch with four messages, and has more under way with each that is taken', async () => {
    const held: (() => void)[] = [];
    const receiver = await stage.receiver({
      answer: () => new Promise((resolve) => held.push(resolve.bind(undefined, 200))),
    });
    const wide = new WebhookClient({ connections: 64, allowPrivateNetwork: true });
    const batch = Array.from({ length: 20 }, (_, n) => ({ ...message(), id: `m-${n}` }));
    const delivery = scheduler().deliver(destination([receiver.url()], {}, wide), batch, firstAttempt());
    for (const arrived of [4, 12, 20]) {
      await receiver.received(arrived);
      expect(receiver.requests).toHaveLength(arrived);
      for (const answer of held.splice(0)) answer();
    }
    expect(await delivery).toEqual(batch.map(() => expect.objectContaining({ class: 'delivered' })));
    expect(receiver.connections).toBe(12);
    await wide.close();
  });

  it('returns no result if it was aborted before it was settled', async () => {
    const [silent, away] = [await receive(() => undefined), await receive(503)];
    const controller = new AbortController();
    const to = destination([silent.url(), away.url()]);
    const delivery = deliverOne(to, message(), controller.signal);
    await Promise.all([silent.received(1), away.received(1)]);
    controller.abort();
    expect(await delivery).toBeUndefined();
  });

  it('returns what the URLs answered if one of them refused before the rest was aborted', async () => {
    const single = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    const later: Answer = { status: 503, headers: { 'retry-after': '7' } };
    const [silent, gone, away] = [await receive(() => undefined), await receive(404), await receive(later)];
    const controller = new AbortController();
    const to = destination([silent.url(), gone.url(), away.url()], {}, single);
    const delivery = deliverOne(to, message(), controller.signal);
    // Over one connection, a second request is sent only after the first is settled.
    await deliver(destination([gone.url(), away.url()], {}, single));
    controller.abort();
    const result = await delivery;
    expect(result).toMatchObject({ class: 'retry', isBrokenOff: true, retryAfter: 7_000 });
    expect(result?.outcomes.map(({ status }) => status)).toEqual([404, 503]);
    await single.close();
  });

  it('returns a delivery even if the rest was aborted', async () => {
    const single = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    const [silent, good] = [await receive(() => undefined), await receive(200)];
    const controller = new AbortController();
    const to = destination([silent.url(), good.url()], {}, single);
    const delivery = deliverOne(to, message(), controller.signal);
    // Over one connection, a second request is sent only after the first is settled.
    await deliver(destination([good.url()], {}, single));
    controller.abort();
    expect(await delivery).toMatchObject({ class: 'delivered', outcomes: [{ status: 200 }] });
    await single.close();
  });

  it('returns the origin of a URL by its hash, and nothing else of the URL', () => {
    const url = 'https://hooks.example.com:8443/services/t0ken?key=t0ken';
    expect(destination([url]).origin(hashUrl(new URL(url)))).toBe('https://hooks.example.com:8443');
    expect(destination([url]).origin('0123456789abcdef')).toBeUndefined();
  });
});
