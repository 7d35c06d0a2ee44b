import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { UNOPTIMIZED } from '../support/child-process.js';
import { readmeSnippet } from '../support/readme-snippet.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** Every snippet of the page in one application, whose customer lives in the same process. */
const APPLICATION = `
import 'reflect-metadata';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { APP_FILTER, NestFactory } from '@nestjs/core';
`;
const STORY = `
const received = [];
const server = createServer(async (request, response) => {
  received.push({ headers: request.headers, body: await buffer(request) });
  response.end();
  server.emit('received');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = 'http://127.0.0.1:' + server.address().port + '/hooks';

const arrived = async (count) => {
  while (received.length < count) await once(server, 'received');
};

// The page's own module takes no URL on this machine, so it is only started; the story has one that does.
await (await NestFactory.createApplicationContext(AppModule, { logger: ['error'] })).close();

const consoleApp = await NestFactory.create(ConsoleModule, { logger: ['error'] });
await consoleApp.listen(0, '127.0.0.1');
const consoleUrl = await consoleApp.getUrl();
const signedIn = { headers: { cookie: 'session=a2b4c6' } };
const page = (await fetch(consoleUrl + '/analytics', signedIn)).status;
const api = (await fetch(consoleUrl + '/analytics/destinations', signedIn)).status;
await consoleApp.close();

const store = new HookTable();
async function start(destinations) {
  const analytics = AnalyticsModule.forRoot({
    writeKey: 'wk_saas',
    connection: { embedded: { dataDir: 'memory://' } },
    flushAt: 1,
    destinations: { allowPrivateNetwork: true, encryptionKey: process.env.ANALYTICS_KEY, ...destinations },
  });
  class Application {}
  Module({ imports: [analytics], controllers: [WebhooksController, HistoryController], providers: [OrdersService, { provide: APP_FILTER, useClass: AnalyticsErrorFilter }] })(Application);
  const app = await NestFactory.create(Application, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  return app;
}
const app = await start({ api: { authorize } });
const call = async (method, path, body) => {
  const headers = { 'x-tenant': 'acme', 'content-type': 'application/json' };
  const response = await fetch(await app.getUrl() + path, { method, headers, body: JSON.stringify(body) });
  return response.headers.get('content-length') === '0' ? undefined : response.json();
};
const { id, secret } = await call('POST', '/webhooks', { url });
const listed = (await call('GET', '/webhooks')).destinations.map((destination) => destination.id === id);
const [tested] = await call('POST', '/webhooks/' + id + '/test');
const wrong = await call('POST', '/webhooks', { url: 'acme.example' });
const unknown = await call('POST', '/webhooks/dst_1/test');
const orders = app.get(OrdersService);
orders.complete('acme', 'u1', 5);
orders.refund('acme', 'u1');
orders.ship('acme', 'u1');
orders.complete('other', 'u2', 5);
await arrived(4);
const recent = async () => (await call('GET', '/webhooks/' + id + '/deliveries')).filter(({ state }) => state === 'delivered');
while ((await recent()).length < 3) await new Promise((resolve) => setTimeout(resolve, 50));
const [{ attempts: [{ origin, status }] }] = await recent();
const hours = await call('GET', '/webhooks/' + id + '/stats');
const counted = hours.reduce((sum, { delivered }) => sum + delivered, 0);
await call('DELETE', '/webhooks/' + id);
// The page of the front end: its own origin, and the cookie of who is signed in.
const { fetch: fetchUrl } = globalThis;
globalThis.fetch = async (path, init) =>
  fetchUrl(await app.getUrl() + path, { ...init, headers: { ...init?.headers, cookie: 'session=a2b4c6' } });
const added = await addWebhook('https://acme.example/hooks');
const refused = await addWebhook('acme.example').catch((error) => error.message);
const { destinations } = await (await fetch('/analytics/destinations')).json();
globalThis.fetch = fetchUrl;
const stranger = (await fetch(await app.getUrl() + '/analytics/destinations')).status;
const front = { own: destinations.map((one) => one.id === added.id && one.tenant), refused, stranger };
await app.close();

const own = await start({ store });
const standard = 'whsec_' + Buffer.alloc(32, 7).toString('base64');
store.rows.push({ id: 'hook-1', tenant: 'acme', url, secret: standard, state: 'on' });
await own.get(DestinationsService).changed('acme');
own.get(OrdersService).complete('acme', 'u3', 5);
await arrived(5);
await own.close();
server.close();
const isSigned = ({ body, headers }, index) => isFromUs(body, headers, index === 4 ? standard : secret);
const events = received.map(({ body }) => JSON.parse(body).event);
const told = origin === new URL(url).origin && status === 200;
console.log(JSON.stringify({ listed, told, counted, tested: tested.class, events, signed: received.map(isSigned), front, console: { page, api }, wrong, unknown }));
`;

describe('The page on webhooks for customers', () => {
  let page: string;
  /** Lies inside the package, so that the snippets can import the package and its dependencies by name. */
  let folder: string;

  beforeAll(async () => {
    page = await readFile(join(ROOT, 'docs/customer-webhooks.md'), 'utf8');
    folder = await mkdtemp(join(ROOT, 'dist', 'page-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('leads to an application whose customers get only their own events, signed', async () => {
    const snippets = [
      'module',
      'track',
      'controller',
      'errors',
      'receiver',
      'history',
      'limit',
      'dead',
      'store',
      'authorize',
      'front-end',
      'console',
    ].map((name) => readmeSnippet(page, name));
    const imports = new Map<string, Set<string>>();
    const code = snippets
      .join('\n')
      .replaceAll(/import (?:type )?\{([^}]*)\} from '([^']*)';/g, (_, names: string, from: string) => {
        const all = imports.get(from) ?? new Set();
        for (const name of names.split(',')) if (name.trim() !== '') all.add(name.trim());
        // Imports of other snippets are dropped: their code is in the same program.
        if (!from.startsWith('./')) imports.set(from, all);
        return '';
      });
    const head = Array.from(imports, ([from, names]) => {
      const values = [...names].filter(
        (name) =>
          !/^type |^(DestinationRecord|DestinationStore|IncomingMessage|DestinationsAccess|DestinationDetails)$/.test(
            name,
          ),
      );
      return `import { ${values.join(', ')} } from '${from}';`;
    });
    const compiled = transformSync([APPLICATION, ...head, code, STORY].join('\n'), {
      jsc: {
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        target: 'es2022',
      },
    });
    await writeFile(join(folder, 'page.mjs'), compiled.code);
    const { stdout } = await run(process.execPath, [UNOPTIMIZED, join(folder, 'page.mjs')], {
      cwd: folder,
      timeout: 110_000,
      env: { ...process.env, ANALYTICS_KEY: Buffer.alloc(32, 1).toString('base64') },
    });
    const told: unknown = JSON.parse(stdout);
    expect(told).toMatchObject({
      listed: [true],
      told: true,
      counted: 3,
      tested: 'delivered',
      signed: [true, true, true, true, true],
      front: { own: ['acme'], refused: expect.stringContaining('urls[0]'), stranger: 401 },
      console: { page: 200, api: 200 },
      wrong: { code: 'INVALID_DESTINATION', message: expect.stringContaining('urls[0]') },
      unknown: { code: 'DESTINATION_NOT_FOUND', message: expect.stringContaining('dst_1') },
    });
    const { events } = told as { events: string[] };
    expect(events[0]).toBe('Test Event');
    expect(events.slice(1, 4).sort()).toEqual(['Order Completed', 'Order Refunded', 'Order Shipped']);
    expect(events[4]).toBe('Order Completed');
  });
});
