import { EventEmitter, once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import {
  DeliveriesService,
  type DestinationsOptions,
  DestinationsService,
  HistoryDisabledError,
  type RecentQuery,
} from '../../src/index.js';
import { FailedMessages } from '../../src/deliveries/failed-messages.js';
import { MemoryDestinationStore } from '../stored-destinations/memory-destination-store.js';
import { type ApiAnswer, PLATFORMS, type ServerOptions } from '../ingest/http/tracking-server.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { ApiServer, authorize } from './api-server.js';
import { HeldReads, LISTS } from './held-reads.js';
import { HeldScans } from './held-scans.js';

const PATH = '/analytics/destinations';
const URLS = ['https://hooks.example.com/events'];
const COOKIE = { cookie: 'user=acme' };

const WRONG_FIELDS: readonly ['GET' | 'POST' | 'PATCH', string, string][] = [
  ['GET', '?limit=0', 'limit'],
  ['GET', '/ID/count-failed?order=name', 'order'],
  ['POST', '/ID/replay {"messageIds":[]}', 'messageIds'],

  ['GET', '?limit=many', 'limit'],
  ['GET', '?limit=1&limit=2', 'limit'],
  ['GET', '?tenant=other', 'tenant'],
  ['GET', '?cursor=%00', 'cursor'],
  ['GET', '?order=name', 'order'],
  ['GET', '/ID/failed?type=click', 'type'],
  ['GET', '/ID/failed?class=delivered', 'class'],
  ['GET', '/ID/failed?status=99', 'status'],
  ['GET', '/ID/failed?status=1000', 'status'],
  ['GET', '/ID/failed?from=yesterday', 'from'],
  ['GET', '/ID/failed?limit=101', 'limit'],
  ['GET', '/ID/failed?waiting=no', 'waiting'],
  ['GET', '/ID/recent?limit=101', 'limit'],
  ['GET', '/ID/stats?from=-1', 'from'],
  ['POST', '/ID/replay {"destination":"all"}', 'destination'],
  ['POST', '/ID/replay {"error":5}', 'error'],
  ['POST', '/ID/replay {"messageIds":[1]}', 'messageIds'],
  ['POST', '/ID/disable {"reason":{}}', 'reason'],
  ['POST', '/ID/rotate-secret {"overlap":-1}', 'overlap'],
  ['POST', '/ID/enable {"force":true}', 'force'],
  ['POST', '/ID/test {"url":"https://example.com"}', 'url'],
  ['POST', ' {"urls":["https://example.com"],"tenant":"other"}', 'tenant'],
  ['PATCH', '/ID {"version":"1"}', 'version'],
  ['PATCH', '/ID {"tenant":"other"}', 'tenant'],
  ['PATCH', '/ID {"enabled":false}', 'enabled'],
];

class BrokenStore extends MemoryDestinationStore {
  constructor(private readonly error: Error) {
    super();
  }

  override list(): Promise<never> {
    return Promise.reject(this.error);
  }
}

describe.each(PLATFORMS)('a request to the API of the destinations on %s', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  async function start(
    destinations?: DestinationsOptions,
    host: Partial<ServerOptions> & { trackingApi?: boolean } = {},
  ): Promise<ApiServer> {
    const connection = await newConnection();
    return stage.add(ApiServer.start({ platform, connection, ...host }, destinations));
  }

  it('with a wrong path or method is told so', async () => {
    const { server } = await start();
    const unknown = await server.send(`${PATH}/dst_1/nothing`, { headers: COOKIE });
    expect(unknown).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
    const wrong = await server.send(`${PATH}/dst_1`, { method: 'PUT', headers: COOKIE });
    expect(wrong).toMatchObject({ status: 405, body: { error: { code: 'METHOD_NOT_ALLOWED' } } });
    expect(wrong.headers.get('allow')).toBe('GET, PATCH, DELETE');
    expect(await server.send(`${PATH}s`, { headers: COOKIE })).not.toMatchObject({ status: 401 });
  });

  it('with a wrong body is refused, and the answer says what is wrong', async () => {
    const { acme } = await start();
    for (const body of ['{', '[]', '"text"', '\xff']) {
      expect(await acme.post('', body)).toMatchObject({
        status: 400,
        body: { error: { code: 'INVALID_BODY' } },
      });
    }
    const large = JSON.stringify({ urls: URLS, description: 'x'.repeat(140_000) });
    expect(await acme.post('', large)).toMatchObject({
      status: 413,
      body: { error: { code: 'BODY_TOO_LARGE' } },
    });
    const wrong = await acme.post('', { urls: ['ftp://example.com'], nme: 'Ours', sharedSecret: 5 });
    expect(wrong).toMatchObject({ status: 422, body: { error: { code: 'INVALID_DESTINATION' } } });
    const { problems } = (wrong.body as { error: { problems: { path: string }[] } }).error;
    expect(problems.map(({ path }) => path).sort()).toEqual(['nme', 'sharedSecret', 'urls[0]']);
  });

  it.each([
    ['of a known length', (text: string) => text],
    ['in chunks', (text: string) => new Blob([text]).stream()],
  ])('whose body, %s, was read by something else that left nothing of it is refused', async (_, bodyOf) => {
    let reads = false;
    const readAll = async (request: IncomingMessage): ReturnType<typeof authorize> => {
      if (reads) await once(request.resume(), 'end');
      return authorize(request);
    };
    const { acme, server } = await start({ api: { authorize: readAll } });
    const id = await acme.create();
    reads = true;
    const headers = { ...COOKIE, 'content-type': 'application/json' };
    const body = bodyOf('{"reason":"Closed"}');
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    expect(await server.send(`${PATH}/${id}/disable`, init)).toMatchObject({
      status: 400,
      body: { error: { code: 'INVALID_BODY', message: expect.stringContaining('has read the body') } },
    });
    reads = false;
    expect(await acme.ok(acme.get(`/${id}`))).toMatchObject({ enabled: true });
    expect(server.log.errors).toEqual([]);
  });

  it('that replays as many messages as it may name is answered, however long their ids are', async () => {
    const { acme } = await start();
    const id = await acme.create();
    const messageIds = Array.from({ length: 1_000 }, (_, index) => String(index).padStart(100, '0'));
    expect(await acme.ok(acme.post(`/${id}/replay`, { messageIds }))).toEqual({ replayed: 0 });
    expect(await acme.post(`/${id}/replay`, { messageIds: [...messageIds, 'more'] })).toMatchObject({
      status: 422,
    });
  });

  it('that would leave a destination without a source is refused', async () => {
    const { acme } = await start();
    const { id } = (await acme.post('', { urls: URLS })).body as { id: string };
    for (const answer of [
      await acme.post('', { urls: URLS, sources: [] }),
      await acme.patch(`/${id}`, { sources: [] }),
    ]) {
      expect(answer).toMatchObject({
        status: 422,
        body: { error: { code: 'INVALID_DESTINATION', problems: [{ path: 'sources' }] } },
      });
    }
  });

  it('with thousands of wrong fields is told of a hundred of them', async () => {
    const { acme } = await start();
    const unknown = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`x${n}`, 1]));
    for (const fields of [unknown, { events: new Array(20_000).fill(0) }]) {
      const { status, body } = await acme.post('', { urls: URLS, ...fields });
      expect(status).toBe(422);
      expect((body as { error: { problems: object[] } }).error.problems).toHaveLength(100);
    }
  });

  it('with a wrong field is refused with its name', async () => {
    const { acme } = await start();
    const { id } = await acme.ok(acme.post('', { urls: URLS }), 201);
    for (const [method, target, field] of WRONG_FIELDS) {
      const [path = '', body = '{}'] = target.replace('ID', String(id)).split(' ');
      const sent = {
        GET: () => acme.get(path),
        POST: () => acme.post(path, body),
        PATCH: () => acme.patch(path, body),
      };
      const answer = await sent[method]();
      // A front end may show only the message.
      const message: unknown = expect.stringContaining(`- \`${field}\`: expected `);
      const expected = { error: { message, problems: [{ path: field }] } };
      expect({ target, ...answer }).toMatchObject({ target, status: 422, body: expected });
    }
    expect(await acme.ok(acme.get(`/${String(id)}`))).toMatchObject({ version: 1 });
  });

  it('for the history of a destination names the tenant that asks, and is answered 501 if there is no history', async () => {
    const { server, acme, operator } = await start();
    const asked: unknown[] = [];
    const attempt = {
      url: 'hash',
      origin: undefined,
      class: 'permanent',
      status: 400,
      attempt: 1,
      at: 1,
      duration: 2.5,
    };
    const delivery = {
      messageId: 'm1',
      type: 'track',
      event: 'E',
      source: 'default',
      state: 'failed',
      at: 3,
      attempts: [attempt],
    };
    const hour = {
      hour: 0,
      delivered: 0,
      retried: 0,
      failed: 1,
      durations: { p50: 2.5, p95: 2.5, p99: 2.5 },
    };
    const quiet = { hour: 3_600_000, delivered: 0, retried: 0, failed: 0, durations: undefined };
    const deliveries = server.app.get(DeliveriesService);
    const answerWith = (result: unknown[]) => (query: unknown) => {
      asked.push(query);
      return Promise.resolve(result);
    };
    Object.assign(deliveries, { recent: answerWith([delivery]), stats: answerWith([hour, quiet]) });
    expect(await acme.ok(acme.get('/dst_1/recent?limit=5'))).toMatchObject({
      deliveries: [{ messageId: 'm1' }],
    });
    expect(await operator.ok(operator.get('/dst_1/stats?from=1&to=2'))).toMatchObject({
      hours: [hour, { failed: 0 }],
    });
    expect(asked).toEqual([
      { destination: 'dst_1', tenant: 'acme', limit: 5 },
      { destination: 'dst_1', tenant: undefined, from: 1, to: 2 },
    ]);
    Object.assign(deliveries, { recent: () => Promise.reject(new HistoryDisabledError()) });
    expect(await acme.get('/dst_1/recent')).toMatchObject({
      status: 501,
      body: { error: { code: 'HISTORY_DISABLED' } },
    });
  });

  it('for more destinations than a tenant may have is refused', async () => {
    const { acme, other } = await start({ limitPerTenant: 1, api: { authorize } });
    await acme.ok(acme.post('', { urls: URLS }), 201);
    expect(await acme.post('', { urls: URLS })).toMatchObject({
      status: 409,
      body: { error: { code: 'DESTINATION_LIMIT' } },
    });
    await other.ok(other.post('', { urls: URLS, tenant: 'other' }), 201);
  });

  it('for a new destination is refused to a tenant that adds and deletes without end, and to nobody else', async () => {
    const { acme, other, operator } = await start({ limitPerTenant: 1, api: { authorize } });
    for (let n = 0; n < 20; n++) {
      const id = await acme.create();
      // A request beyond the tenant's limit of destinations does not count.
      if (n === 0) expect((await acme.post('', { urls: URLS })).status).toBe(409);
      expect((await acme.delete(`/${id}`)).status).toBe(204);
    }
    const refused = await acme.post('', { urls: URLS });
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMITED' } } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000);
    await other.create();
    await operator.create({ tenant: 'acme' });
  });

  it('for a change is refused to a tenant that makes more than five changes a second, but may still read', async () => {
    const { acme, other } = await start();
    const change = (): Promise<ApiAnswer> => acme.post('/dst_none/disable');
    let [answer, changes] = [await change(), 1];
    for (; answer.status === 404 && changes < 300; changes++) answer = await change();
    expect(answer).toMatchObject({
      status: 429,
      body: {
        error: { code: 'RATE_LIMITED', message: expect.stringContaining('more than 5 changes per second') },
      },
    });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(changes).toBeGreaterThan(100);
    await acme.ok(acme.get());
    await other.create();
  });

  it('that fails in the store does not fill the log, however often it is sent', async () => {
    const store = new MemoryDestinationStore();
    const findById = store.findById.bind(store);
    // As a database does if the column holds a `uuid`.
    store.findById = (id) => (id === 'x' ? Promise.reject(new Error('invalid uuid')) : findById(id));
    const api = await start({ store });
    const users = Array.from({ length: 5 }, (_, index) => api.as(`tenant-${String(index)}`));
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(users.map((user) => user.get('/x')));
      expect(answers.map(({ status }) => status)).toEqual(users.map(() => 500));
    }
    const { errors } = api.server.log;
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.length).toBeLessThanOrEqual(5);
    expect(await api.acme.get('/y')).toMatchObject({ status: 404 });
  });

  it('is answered 503 while the store does not answer, and 500 without details if it throws', async () => {
    const hanging = await start({
      store: { findByTenant: () => Promise.resolve([]), findById: () => new Promise(() => undefined) },
    });
    const asked = await Promise.all([hanging.acme.get('/dst_1'), hanging.operator.get('/dst_1')]);
    // Only the operator can do something about the store.
    for (const [index, message] of ['ask whoever runs this application', '`destinations.store`'].entries()) {
      expect(asked[index]).toMatchObject({
        status: 503,
        body: { error: { code: 'DESTINATION_STORE_TIMEOUT', message: expect.stringContaining(message) } },
      });
    }
    const store = new MemoryDestinationStore();
    const neverWritten = await start({
      store: Object.assign(store, { insert: () => new Promise<boolean>(() => undefined) }),
    });
    expect(await neverWritten.acme.post('', { urls: URLS })).toMatchObject({
      status: 503,
      body: { error: { code: 'DESTINATION_WRITE_TIMEOUT' } },
    });

    for (const error of [
      new Error('teehee'),
      Object.assign(new Error('teehee'), { code: 'ECONNREFUSED' }),
      Object.assign(new Error('teehee'), { code: '57P01' }),
    ]) {
      const broken = await start({ store: new BrokenStore(error) });
      expect(await broken.acme.get()).toMatchObject({
        status: 500,
        body: { error: { code: 'INTERNAL_ERROR', message: 'The request failed. Send it again later.' } },
      });
      const lines = broken.server.log.analytics.filter((line) => line.includes('destinations API failed'));
      expect(lines).toHaveLength(1);
      expect(lines[0]).not.toContain('teehee');
    }

    const full = await start({
      store: Object.assign(new MemoryDestinationStore(), {
        insert: () => Promise.reject(new Error('no space left')),
      }),
    });
    expect((await full.acme.post('', { urls: URLS })).status).toBe(500);
    expect(full.server.log.errors).toEqual([
      expect.stringMatching(/A request to the destinations API failed: Error at /),
    ]);
  });

  it('is answered 503 if the secrets cannot be decrypted, and 501 if the store can only be read', async () => {
    const store = new MemoryDestinationStore();
    const before = await start({ store });
    const { id } = await before.acme.ok(before.acme.post('', { urls: URLS }), 201);
    const { acme, operator } = await start({ store });
    expect(await acme.ok(acme.get(`/${String(id)}`))).not.toHaveProperty('signatures');
    const codeAnd = (message: string): object => ({
      status: 503,
      body: { error: { code: 'DESTINATION_KEY', message: expect.stringContaining(message) } },
    });
    const rotated = `/${String(id)}/rotate-secret`;
    expect(await acme.post(rotated)).toMatchObject(codeAnd('Ask whoever runs this application.'));
    expect(await operator.post(rotated)).toMatchObject(codeAnd('`destinations.encryptionKey`'));

    const readOnly = await start({
      store: { findByTenant: () => Promise.resolve([]), findById: (one) => store.findById(one) },
    });
    const refused = { status: 501, body: { error: { code: 'DESTINATIONS_READ_ONLY' } } };
    expect(await readOnly.acme.get()).toMatchObject(refused);
    expect(await readOnly.acme.delete(`/${String(id)}`)).toMatchObject(refused);
  });

  it('that sends a test event is refused while four others of its tenant are in progress', async () => {
    const release = new EventEmitter();
    const receiver = await stage.receiver({
      answer: async (_, index) => {
        if (index < 4) await once(release, 'now');
        return 200;
      },
    });
    const { acme, other } = await start();
    const sendTest = async (client: typeof acme): Promise<ApiAnswer> => {
      const { id } = await client.ok(client.post('', { urls: [receiver.url()] }), 201);
      return client.post(`/${String(id)}/test`);
    };
    const running = [1, 2, 3, 4].map(() => sendTest(acme));
    await receiver.received(4);
    const refused = await sendTest(acme);
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'TOO_MANY_REQUESTS' } } });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await sendTest(other)).toMatchObject({ status: 200 });
    release.emit('now');
    for (const answer of await Promise.all(running)) expect(answer.status).toBe(200);
    expect(await sendTest(acme)).toMatchObject({ status: 200 });
  });

  it('that does more than read is not refused while its tenant reads as much as it may', async () => {
    const { server, acme } = await start();
    const reads = new HeldReads(server.app.get(DeliveriesService));
    const receiver = await stage.receiver();
    const id = await acme.create({ urls: [receiver.url()] });
    const statuses: number[] = [];
    const answers = ['a1', 'a2', 'a3', 'a4', 'a5'].map(async (name) => {
      statuses.push((await reads.read(acme, name)).status);
    });
    const running = [await reads.began(), await reads.began()];
    await until(() => statuses[0]);
    expect(statuses).toEqual([429]);
    const replayed = acme.post(`/${id}/replay`, { messageIds: ['replay'] });
    expect(await reads.began()).toBe('replay');
    reads.end('replay');
    expect(await replayed).toMatchObject({ status: 200 });
    for (const action of ['test', 'enable'])
      expect(await acme.post(`/${id}/${action}`)).toMatchObject({ status: 200 });
    for (const name of running) reads.end(name);
    for (const name of [await reads.began(), await reads.began()]) reads.end(name);
    await Promise.all(answers);
    expect(statuses).toEqual([429, 200, 200, 200, 200]);
  });

  it('that reads the queue waits for others of its tenant, and not for those of another tenant', async () => {
    const { server, acme, other } = await start();
    const reads = new HeldReads(server.app.get(DeliveriesService));
    const ofAcme = ['a1', 'a2', 'a3'].map((name) => reads.read(acme, name));
    const [first, second] = [await reads.began(), await reads.began()];
    const ofOther = reads.read(other, 'o1');
    expect(await reads.began()).toBe('o1');
    reads.end(first);
    const third = await reads.began();
    expect([first, second, third].sort()).toEqual(['a1', 'a2', 'a3']);
    for (const name of [second, third, 'o1']) reads.end(name);
    for (const answer of await Promise.all([...ofAcme, ofOther])) expect(answer.status).toBe(200);
  });

  it.each(LISTS)(
    'for %s… waits while two others of its tenant are in progress, and for nothing else',
    async (path) => {
      const { server, acme, other } = await start();
      const id = await acme.create();
      const reads = new HeldReads(server.app.get(DeliveriesService), server.app.get(DestinationsService));
      const list = (client: typeof acme, name: string): Promise<ApiAnswer> => client.get(path + name);
      const ofAcme = ['1', '2', '3', '4', '5', '6'].map((name) => list(acme, name));
      const running = [await reads.began(), await reads.began()];
      const ofOther = list(other, '7');
      expect(await reads.began()).toBe('7');
      const read = acme.get(`/${id}/failed?messageIds=read`);
      expect(await reads.began()).toBe('read');
      while (running.length < ofAcme.length) {
        reads.end(String(running.at(-2)));
        running.push(await reads.began());
      }
      expect(running.sort()).toEqual(['1', '2', '3', '4', '5', '6']);
      for (const name of [...running, '7', 'read']) reads.end(name);
      for (const answer of await Promise.all([...ofAcme, ofOther, read])) expect(answer.status).toBe(200);
      expect(reads.most).toBe(4);
    },
  );

  it('that replays waits for other replays of its tenant, and for nothing that reads', async () => {
    const { server, acme, other } = await start();
    const reads = new HeldReads(server.app.get(DeliveriesService));
    const replays = ['a1', 'a2', 'a3'].map((name) => reads.replay(acme, name));
    const running = [await reads.began(), await reads.began()];
    const read = reads.read(acme, 'read');
    expect(await reads.began()).toBe('read');
    const ofOther = reads.replay(other, 'o1');
    expect(await reads.began()).toBe('o1');
    reads.end(String(running[0]));
    running.push(await reads.began());
    expect([...running].sort()).toEqual(['a1', 'a2', 'a3']);
    for (const name of [...running, 'read', 'o1']) reads.end(name);
    for (const answer of await Promise.all([...replays, ofOther])) {
      expect(answer).toMatchObject({ status: 200, body: { replayed: 1 } });
    }
    expect((await read).status).toBe(200);
  });

  it.each([
    ['reads the queue', 'read'],
    ['replays', 'replay'],
  ] as const)(
    'that %s waits while eight others are in progress, and each end lets one in',
    async (_, kind) => {
      const api = await start();
      const reads = new HeldReads(api.server.app.get(DeliveriesService));
      const tenants = Array.from({ length: 10 }, (_, index) => `t${index}`);
      const answers = tenants.map((tenant) => reads[kind](api.as(tenant), tenant));
      const running: string[] = [];
      while (running.length < 8) running.push(await reads.began());
      for (const tenant of running.slice(0, 2)) {
        reads.end(tenant);
        running.push(await reads.began());
      }
      expect(running.sort()).toEqual(tenants);
      for (const tenant of running) reads.end(tenant);
      for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
      expect(reads.most).toBe(8);
    },
  );

  it('that enables does so at once, and one scan at a time reads failed messages for all that wait together', async () => {
    const api = await start();
    const scans = new HeldScans(api.server.app.get(FailedMessages));
    const { acme, other } = api;
    const clients = [acme, acme, acme, other, other, other];
    const ids = await Promise.all(clients.map((client) => client.create({ enabled: false })));
    const answers = clients.map((client, index) => client.post(`/${ids[index]}/enable`));
    await scans.began();
    for (const id of ids) {
      await until(async () =>
        (await api.operator.ok(api.operator.get(`/${id}`))).enabled === true ? true : undefined,
      );
    }
    scans.end();
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ status: 200, body: { enabled: true } });
    }
    expect(scans.most).toBe(1);
    expect(scans.meant(ids)).toEqual(ids);
  });

  it('that reads the queue ends when its sender hangs up', async () => {
    const { server, acme } = await start();
    const reads = new HeldReads(server.app.get(DeliveriesService));
    const url = new URL(`${PATH}/${await acme.create()}/failed?messageIds=gone`, server.url);
    const senders = [1, 2].map(() => get(url, { headers: COOKIE, agent: false }));
    const goodbyes = senders.map((sender) => once(sender, 'error'));
    await reads.began();
    await reads.began();
    const answer = reads.read(acme, 'stays');
    for (const sender of senders) sender.destroy(new Error('hung up'));
    expect(await reads.began()).toBe('stays');
    reads.end('stays');
    expect((await answer).status).toBe(200);
    await Promise.all(goodbyes);
    expect(server.log.errors).toEqual([]);
  });

  it('that reads shares listeners on its connection with all others that came over it', async () => {
    const { server, acme, http } = await start();
    const reads = new HeldReads(server.app.get(DeliveriesService), server.app.get(DestinationsService));
    const connected = once(http, 'connection') as Promise<[Socket]>;
    const client = connect(Number(new URL(server.url).port), '127.0.0.1');
    client.on('error', () => undefined);
    const [connection] = await connected;
    const arrived = new Promise<void>((resolve) => {
      http.on('request', ({ url }: IncomingMessage) => {
        if (url?.endsWith('=20') === true) resolve();
      });
    });
    const requestOf = (number: number): string =>
      `GET ${PATH}?limit=${number} HTTP/1.1\r\nHost: localhost\r\nCookie: ${COOKIE.cookie}\r\n\r\n`;
    client.write(Array.from({ length: 20 }, (_, index) => requestOf(index + 1)).join(''));
    await arrived;
    for (const name of ['1', '2']) expect(await reads.began()).toBe(name);
    await new Promise(setImmediate);
    // Node warns of a leak from the eleventh listener on.
    expect(connection.listenerCount('close')).toBeLessThan(11);
    const next = acme.get('?limit=21');
    const closed = once(connection, 'close');
    client.destroy();
    await closed;
    // Requests that had not begun no longer begin.
    reads.end('1');
    expect(await reads.began()).toBe('21');
    for (const name of ['2', '21']) reads.end(name);
    expect((await next).status).toBe(200);
  });

  it('with an id that no destination can have is answered 404', async () => {
    const { server, acme } = await start();
    for (const id of ['dst_1', '%00', '%2e%2e%2f', 'x'.repeat(201), 'constructor', '__proto__']) {
      expect(await acme.get(`/${id}`)).toMatchObject({
        status: 404,
        body: { error: { code: 'DESTINATION_NOT_FOUND' } },
      });
    }
    // Fastify refuses such a path itself.
    const { status } = await server.send(`${PATH}/%`, { headers: COOKIE });
    expect(status).toBe(platform === 'Express' ? 404 : 400);
  });

  it("with the document's placeholder in place of an id is about a destination of that name", async () => {
    const { server } = await start();
    const asked: string[] = [];
    Object.assign(server.app.get(DeliveriesService), {
      recent: ({ destination }: RecentQuery) => {
        asked.push(destination);
        return Promise.resolve([]);
      },
    });
    const { hostname, port } = new URL(server.url);
    // A URL object would escape the braces.
    const sent = get({ hostname, port, path: `${PATH}/{id}/recent`, headers: COOKIE });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    expect(asked).toEqual(['{id}']);
  });
});
