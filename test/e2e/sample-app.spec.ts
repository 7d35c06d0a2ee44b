import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GuardedChild, UNOPTIMIZED } from '../support/child-process.js';
import { Visitor } from '../console/visitor.js';
import { Browser } from '../support/browser.js';
import { describeBackend, describeWith, type TestConnection } from '../support/describe-backend.js';
import { freePort } from '../support/free-port.js';
import { PostgresServer } from '../support/postgres-server.js';
import { until } from '../support/until.js';

const MAIN = fileURLToPath(new URL('../../sample-app/dist/main.js', import.meta.url));
/** Milliseconds for a start of the shop, and for the job of a killed worker to be found again. */
const TIMEOUT = 120_000;
const SECRET = 'teehee';

const running = new Set<GuardedChild>();

async function startMain(cwd: string, port: number, env: NodeJS.ProcessEnv): Promise<GuardedChild> {
  const child = await GuardedChild.start(process.execPath, [UNOPTIMIZED, MAIN], {
    cwd,
    // Like a user who tries the shop: in the test environment, the embedded queue would be in memory.
    env: { ...process.env, NODE_ENV: 'development', PORT: String(port), ...env },
  });
  running.add(child);
  void child.exited.then(() => running.delete(child));
  return child;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
}

function field(json: unknown, name: string): string {
  const value: unknown = new Map(Object.entries(json ?? {})).get(name);
  if (typeof value !== 'string') throw new Error(`There is no ${name} in ${JSON.stringify(json)}`);
  return value;
}

/** The sample shop in a process of its own, as one browser sees it. */
class Shop {
  /** Cookie of the browser. */
  cookie = '';

  private constructor(
    private readonly child: GuardedChild,
    readonly url: string,
  ) {}

  static async open(cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Shop> {
    const port = await freePort();
    const child = await startMain(cwd, port, env);
    const said = await child.waitFor(/The shop is open|Port \d+ is in use/);
    if (!said.includes('open')) {
      // An outgoing connection of another process got the port before the shop could listen on it.
      await child.exited;
      return Shop.open(cwd, env);
    }
    expect(await child.waitFor(/Open the console:/)).toContain(`:${port}/analytics`);
    child.drain();
    return new Shop(child, `http://127.0.0.1:${port}`);
  }

  /** Returns the shop as another browser sees it. */
  visit(cookie = ''): Shop {
    const shop = new Shop(this.child, this.url);
    shop.cookie = cookie;
    return shop;
  }

  /** Sends a request, and keeps the cookie that the answer brings. */
  async send(method: string, path: string, body?: object, headers?: object): Promise<Response> {
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: { 'content-type': 'application/json', cookie: this.cookie, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    this.cookie = response.headers.get('set-cookie')?.split(';')[0] ?? this.cookie;
    return response;
  }

  get visitorId(): string {
    return this.cookie.slice('visitor='.length);
  }

  /** Signs up a new customer, and resolves to the customer's id. */
  async signUp(): Promise<string> {
    const response = await this.send('POST', '/account', { name: 'Zoë', email: 'zoe@example.com' });
    return field(await response.json(), 'id');
  }

  /** Recomputes the audience, and resolves to how many users joined, left and stayed. */
  async recompute(): Promise<unknown> {
    return (await this.send('POST', '/audiences/big-spenders')).json();
  }

  /** Orders something, and resolves to the order's id once the shop has answered. */
  async order(): Promise<string> {
    const response = await this.send('POST', '/orders', { product: 'mug' });
    const order: unknown = await response.json();
    expect(order).toMatchObject({ recorded: true });
    return field(order, 'orderId');
  }

  /** Yields the deliveries in the page's stream: first the past ones, then each new one. */
  async *deliveries(path = '/deliveries'): AsyncGenerator<string> {
    const { body } = await fetch(new URL(path, this.url), { headers: { cookie: this.cookie } });
    if (body === null) throw new Error('The stream has no body');
    let text = '';
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const lines = (text + chunk).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length);
    }
  }

  /** Resolves to all deliveries up to the first one that contains these texts. */
  async deliveriesUntil(text: string | readonly string[], path?: string): Promise<unknown[]> {
    const texts = [text].flat();
    const seen: unknown[] = [];
    for await (const delivery of this.deliveries(path)) {
      seen.push(JSON.parse(delivery));
      if (texts.every((one) => delivery.includes(one))) return seen;
    }
    throw new Error(`The stream ended without ${texts.join(', ')}`);
  }

  async delivery(...texts: string[]): Promise<unknown> {
    const deliveries = await this.deliveriesUntil(texts);
    return deliveries.at(-1);
  }

  stop(signal: NodeJS.Signals): Promise<void> {
    return this.child.stop(signal);
  }
}

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'analytics-shop-'));
});
afterAll(async () => {
  try {
    await Promise.all([...running].map((child) => child.stop('SIGKILL')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** Returns the deliveries that contain an id. */
function about(id: string, deliveries: readonly unknown[]): unknown[] {
  return deliveries.filter((delivery) => JSON.stringify(delivery).includes(id));
}

describe('the sample shop', () => {
  let shops: Promise<Shop>;

  /** Opens the shop in the same folder as before. Each start creates a database in memory, which takes seconds. */
  function open(): Promise<Shop> {
    shops = Shop.open(folder, { SHARED_SECRET: SECRET });
    return shops;
  }

  /** Resolves to the open shop as a new visitor sees it. */
  const visit = async (): Promise<Shop> => (await shops).visit();

  beforeAll(async () => {
    await open();
  }, TIMEOUT);

  it(
    'delivers the events of a customer, signed, to the receiver that its page shows',
    async () => {
      const shop = await visit();
      const page = await shop.send('GET', '/');
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(await page.text()).toContain('/deliveries');

      await shop.send('GET', '/products/tent');
      const { visitorId } = shop;
      const userId = await shop.signUp();
      await shop.send('PUT', '/account/company', { name: 'Initech' });
      const orderId = await shop.order();
      await shop.send('DELETE', '/account');

      const seen = await shop.deliveriesUntil([userId, '"delete"']);
      const deliveries = [...new Set([...about(visitorId, seen), ...about(userId, seen)])];
      const bodies = [
        {
          type: 'page',
          anonymousId: visitorId,
          name: 'Tent',
          context: expect.objectContaining({ page: expect.objectContaining({ path: '/products/tent' }) }),
        },
        { type: 'alias', 'Previous ID': visitorId, 'User ID': userId },
        {
          type: 'identify',
          userId,
          anonymousId: visitorId,
          traits: { name: 'Zoë', email: 'zoe@example.com' },
        },
        { type: 'group', userId, groupId: 'initech', traits: { name: 'Initech' } },
        { type: 'track', userId, event: 'Order Completed', properties: expect.objectContaining({ orderId }) },
        { type: 'delete', userId },
      ];
      expect(deliveries).toHaveLength(bodies.length);
      for (const body of bodies) {
        expect(deliveries).toContainEqual(
          expect.objectContaining({ verdict: 'verified', body: expect.objectContaining(body) }),
        );
      }
    },
    TIMEOUT,
  );

  it(
    'sends the event of a paid order, and none of a failed payment',
    async () => {
      const shop = await visit();
      const failed = await shop.send('POST', '/payments', { product: 'tent', fails: true });
      expect(failed.status).toBe(402);
      const paid: unknown = await (await shop.send('POST', '/payments', { product: 'mug' })).json();
      const orderId = field(paid, 'orderId');
      const deliveries = await shop.deliveriesUntil(orderId);
      expect(about(shop.visitorId, deliveries)).toEqual([
        expect.objectContaining({
          verdict: 'verified',
          body: expect.objectContaining({
            event: 'Order Completed',
            properties: expect.objectContaining({ orderId }),
          }),
        }),
      ]);
    },
    TIMEOUT,
  );

  describeWith('chromium', Browser.binary !== undefined, 'in a browser', () => {
    let visitor: Visitor;

    beforeAll(async () => {
      visitor = await Visitor.open((await visit()).url, 'anybody');
    }, TIMEOUT);
    beforeEach(() => visitor.showTo('anybody', '/'));
    afterAll(() => visitor.close());

    it(
      'has a button for a payment, and one for a payment that fails and sends nothing',
      async () => {
        await visitor.sees('Live: each delivery shows up');
        await visitor.click('Pay, then fail nothing');
        await visitor.sees('The payment failed, and nothing is sent.');
        await visitor.click('Pay for a mug in a transaction track');
        await visitor.sees('Paid. The event was committed together with the order.');
        const cookie = (await visitor.cookies()).find(({ name }) => name === 'visitor');
        if (cookie === undefined) throw new Error('The shop has set no cookie');
        // The page shows the deliveries of all visitors.
        const arrived = (event: string): Promise<string[]> =>
          until(async () => {
            const shown = (await visitor.page.evaluate(
              `Array.from(document.querySelectorAll('#deliveries pre'), (one) => one.textContent)`,
            )) as string[];
            const own = shown.filter((text) => text.includes(cookie.value));
            return own.some((text) => text.includes(event)) ? own : undefined;
          });
        await arrived('Order Completed');
        // This event arrives a second later: any event of the failed payment would have arrived by then.
        await visitor.click('Order a unicorn track');
        expect(await arrived('Order Refused')).toEqual([
          expect.stringContaining('"event": "Order Refused"'),
          expect.stringMatching(/"event": "Order Completed"[^]*"product": "mug"/),
        ]);
      },
      TIMEOUT,
    );

    it(
      'lets a visitor break the receiver, see an event fail for good, and replay it in the console',
      async () => {
        await visitor.sees('Live: each delivery shows up');
        const choose = async (state: string, said: string): Promise<void> => {
          await visitor.page.locator(`input[value=${state}]`).click();
          await visitor.reads(said);
        };
        await choose('down', 'The receiver is down.');
        await visitor.click('Order a mug track');
        await visitor.reads('503, will be retried');
        await choose('up', 'The receiver accepts everything.');
        await visitor.page.locator('#deliveries ::-p-text(attempt 2)').click();
        const first = await visitor.page.evaluate('document.querySelector(location.hash).innerText');
        expect(first).toContain('503');
        expect(first).not.toContain('attempt');

        await choose('broken', 'The receiver rejects everything for good.');
        await visitor.click('Order a mug track');
        await visitor.reads('400, failed for good');
        await choose('up', 'The receiver accepts everything.');
        await visitor.click('replay');
        await visitor.sees('400 track');
        await visitor.click('Replay all that match');
        await visitor.reads('1 message is delivered again.');
      },
      TIMEOUT,
    );
  });

  it(
    'records refused and returned orders, each with its visitor',
    async () => {
      const shop = await visit();
      const refused = await shop.send('POST', '/orders', { product: 'unicorn' });
      expect(refused.status).toBe(404);
      const { visitorId } = shop;
      const orderId = await shop.order();
      expect((await shop.send('DELETE', `/orders/${orderId}`)).status).toBe(200);

      expect(await shop.delivery(visitorId, 'Order Refused')).toMatchObject({
        verdict: 'verified',
        body: { anonymousId: visitorId, event: 'Order Refused', properties: { product: 'unicorn' } },
      });
      expect(await shop.delivery(visitorId, 'Order Returned')).toMatchObject({
        verdict: 'verified',
        body: { anonymousId: visitorId, event: 'Order Returned', properties: { orderId, revenue: 12.5 } },
      });
    },
    TIMEOUT,
  );

  it(
    'tells the receiver who joined and who left the audience Big Spenders, and nothing about others',
    async () => {
      const shop = await visit();
      const userId = await shop.signUp();

      await shop.send('POST', '/payments', { product: 'mug' });
      expect(await shop.recompute()).toEqual({ added: 0, removed: 0, unchanged: 0 });
      const orderId = await shop.order();
      expect(await shop.recompute()).toEqual({ added: 1, removed: 0, unchanged: 0 });
      expect(await shop.recompute()).toEqual({ added: 0, removed: 0, unchanged: 1 });
      await shop.delivery(userId, '"big_spenders":true');
      await shop.send('DELETE', `/orders/${orderId}`);
      expect(await shop.recompute()).toEqual({ added: 0, removed: 1, unchanged: 0 });

      const deliveries = await shop.deliveriesUntil([userId, '"big_spenders":false']);
      expect(about('big_spenders', about(userId, deliveries))).toMatchObject([
        { verdict: 'verified', body: { type: 'identify', userId, traits: { big_spenders: true } } },
        { verdict: 'verified', body: { type: 'identify', userId, traits: { big_spenders: false } } },
      ]);
    },
    TIMEOUT,
  );

  it(
    'removes a customer who deletes the account from the audience first, and never mentions that customer again',
    async () => {
      const shop = await visit();
      const userId = await shop.signUp();
      await shop.order();
      await shop.order();
      expect(await shop.recompute()).toEqual({ added: 1, removed: 0, unchanged: 0 });
      expect((await shop.send('DELETE', '/account')).status).toBe(204);
      expect(await shop.delivery(userId, '"big_spenders":false')).toMatchObject({ verdict: 'verified' });
      expect(await shop.recompute()).toEqual({ added: 0, removed: 0, unchanged: 0 });
    },
    TIMEOUT,
  );

  it(
    'refuses requests that are not signed with its secret, and keeps a repeated event once',
    async () => {
      const shop = await visit();
      const body = { type: 'delete', userId: '019mr8mf4r', timestamp: '2012-12-02T00:30:08.276Z' };
      const signature = 'c3196d278ad70d4cd303479d370dd87b03856f89';
      const hook = async (headers: object) => (await shop.send('POST', '/hooks', body, headers)).status;

      expect(await hook({ 'webhook-id': 'once' })).toBe(401);
      expect(await hook({ 'webhook-id': 'once', 'x-signature': signature.replace('c', 'd') })).toBe(401);
      expect(await hook({ 'webhook-id': 'once', 'x-signature': signature })).toBe(204);
      expect(await hook({ 'webhook-id': 'once', 'x-signature': signature })).toBe(204);
      expect(await hook({ 'webhook-id': 'another', 'x-signature': signature })).toBe(204);

      expect(about(body.userId, await shop.deliveriesUntil('"another"'))).toMatchObject([
        { id: 'once', verdict: 'not verified' },
        { id: 'once', verdict: 'not verified' },
        { id: 'once', verdict: 'verified' },
        { id: 'another', verdict: 'verified' },
      ]);
    },
    TIMEOUT,
  );

  it(
    'lets a visitor register a webhook that gets only their own orders, even after a restart',
    async () => {
      const shop = await visit();
      await shop.send('GET', '/products/tent');
      const { cookie } = shop;
      const id = field(await (await shop.send('POST', '/webhook')).json(), 'id');
      const strange = await (await visit()).order();
      const first = await shop.order();
      const before = await shop.deliveriesUntil(first, '/webhook/deliveries');
      expect(before).toMatchObject([{ verdict: 'verified', body: { event: 'Order Completed' } }]);
      expect(JSON.stringify(before)).not.toContain(strange);
      expect(await (await shop.send('GET', '/analytics')).text()).toContain('<main id="page"');
      await until(async () => {
        const recent = await (await shop.send('GET', `/analytics/destinations/${id}/recent`)).text();
        return recent.includes('"state":"delivered"') ? true : undefined;
      });
      // The shop ends on SIGTERM even while a page reads the stream.
      const stream = shop.deliveries('/webhook/deliveries');
      await stream.next();
      const cut = expect(stream.next()).rejects.toThrow('terminated');
      await shop.stop('SIGTERM');
      await cut;

      const again = (await open()).visit(cookie);
      // The shop has another port by now, as the visitor's application would have another address.
      expect(field(await (await again.send('POST', '/webhook')).json(), 'id')).toBe(id);
      const second = await again.order();
      expect(await again.deliveriesUntil(second, '/webhook/deliveries')).toHaveLength(1);
      expect((await again.send('DELETE', '/webhook')).status).toBe(204);
    },
    TIMEOUT,
  );

  it(
    'delivers an order after a restart if it was killed while the receiver was down',
    async () => {
      const killed = await visit();
      await killed.send('PUT', '/hooks/state', { state: 'down' });
      const orderId = await killed.order();
      expect(await killed.delivery(orderId)).toMatchObject({ verdict: 'refused' });
      await killed.stop('SIGKILL');

      const restarted = await open();
      expect(await restarted.delivery(orderId)).toMatchObject({ verdict: 'verified' });
    },
    TIMEOUT,
  );

  it(
    'shows an order that failed for good in its console, and delivers it on replay',
    async () => {
      const shop = await visit();
      await shop.send('PUT', '/hooks/state', { state: 'broken' });
      const orderId = await shop.order();
      expect(await shop.delivery(orderId)).toMatchObject({ verdict: 'rejected' });
      await shop.send('PUT', '/hooks/state', { state: 'up' });
      const [, path = ''] =
        /"(\/analytics#[^"]+)">replay/.exec(await (await shop.send('GET', '/')).text()) ?? [];
      const id = path.slice('/analytics#/destinations/'.length);
      const api = `/analytics/destinations/${id}`;
      await until(async () => {
        const failed = await (await shop.send('GET', `${api}/failed`)).text();
        return failed.includes(orderId) ? true : undefined;
      });
      const replayed = await shop.send('POST', `${api}/replay`, {}, { 'x-analytics-console': '1' });
      expect(await replayed.json()).toEqual({ replayed: 1 });
      expect(await shop.delivery(orderId, '"verified"')).toMatchObject({ verdict: 'verified' });
    },
    TIMEOUT,
  );

  it('says which port is taken and how to choose another, before it touches its queue', async () => {
    const empty = join(folder, 'empty');
    await mkdir(empty);
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = portOf(other);
    const child = await startMain(empty, port, {});
    await child.waitFor(new RegExp(`Port ${port} is in use.* PORT=\\d+ npm start`));
    await child.exited;
    expect(existsSync(join(empty, '.analytics'))).toBe(false);
    other.close();
    await once(other, 'close');
  });
});

describeBackend('the sample shop in two processes', (backend) => {
  if (backend.name === 'embedded') {
    it('is refused with the embedded queue, which only one process can use', async () => {
      const child = await startMain(folder, await freePort(), { WORKER: 'false' });
      await child.waitFor(/`connection`: expected a `redis:\/\/` or `postgres:\/\/` URL/);
      await child.exited;
    });
    return;
  }

  let shops: Promise<[worker: Shop, producer: Shop]> | undefined;
  let database: PostgresServer | undefined;

  beforeAll(async () => {
    // Each of the two processes would take seconds to create a database in memory.
    if (backend.name === 'Redis' && PostgresServer.installed) database = await PostgresServer.create();
  });
  afterAll(() => database?.dispose());

  /** Opens a shop that delivers, and one that only produces. Both stay open for the next test. */
  function open(): Promise<[worker: Shop, producer: Shop]> {
    shops ??= openOn(backend.connection);
    return shops;
  }

  async function openOn(queue: TestConnection): Promise<[worker: Shop, producer: Shop]> {
    if (typeof queue !== 'string') throw new Error('A queue that is shared has a URL');
    const orders = backend.name === 'PostgreSQL' ? queue : await database?.createDatabase();
    const env = { QUEUE_URL: queue, DATABASE_URL: orders };
    return Promise.all([Shop.open(folder, env), Shop.open(folder, { ...env, WORKER: 'false' })]);
  }

  if (backend.name === 'PostgreSQL') {
    it(
      'delivers the event of an order paid in the other process, and none of a failed payment',
      async () => {
        const [worker, producer] = await open();
        expect((await producer.send('POST', '/payments', { product: 'tent', fails: true })).status).toBe(402);
        const paid: unknown = await (await producer.send('POST', '/payments', { product: 'mug' })).json();
        const orderId = field(paid, 'orderId');
        expect(await worker.deliveriesUntil(orderId)).toMatchObject([
          { verdict: 'verified', body: { event: 'Order Completed', properties: { orderId } } },
        ]);
      },
      TIMEOUT,
    );
  }

  it(
    'delivers events of the other process, also to a visitor’s webhook, even if that process is killed at once',
    async () => {
      const [worker, producer] = await open();
      await worker.send('GET', '/products/tent');
      await worker.send('POST', '/webhook');
      const first = await producer.visit(worker.cookie).order();
      expect(await worker.deliveriesUntil(first, '/webhook/deliveries')).toMatchObject([
        { verdict: 'verified', body: { event: 'Order Completed' } },
      ]);
      // The shop answers only after the event of the order is in the queue.
      const last = await producer.order();
      await producer.stop('SIGKILL');
      expect(await worker.delivery(last)).toMatchObject({ verdict: 'verified' });
    },
    TIMEOUT,
  );
});
