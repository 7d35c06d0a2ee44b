import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import {
  type AnalyticsModuleOptions,
  DeliveriesService,
  type DestinationEvent,
  DestinationsService,
  type JsonObject,
} from '../../src/index.js';
import type { StoredDestination } from '../../src/options/destination-store.js';
import { AnalyticsApp } from '../support/analytics-app.js';
import { describeAnyServer, describeServersOrEmbedded } from '../support/describe-backend.js';
import { Receiver } from '../support/receiver.js';
import { MemoryDestinationStore } from './memory-destination-store.js';
import { quickConnections } from '../support/quick-connections.js';

const URL = 'https://hooks.example.com/acme';
const newConnection = quickConnections();

async function starting(destinations: AnalyticsModuleOptions['destinations']): Promise<AnalyticsApp> {
  return AnalyticsApp.start({
    connection: await newConnection(),
    ...(destinations !== undefined && { destinations }),
  });
}

/** Resolves to the texts of the problems. */
async function problemsOf(work: Promise<unknown>): Promise<string[]> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: 'INVALID_DESTINATION' });
  const text = error instanceof Error ? error.message : '';
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
}

/** Returns an object with nested arrays. */
function nested(levels: number): JsonObject {
  return JSON.parse(`{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`) as JsonObject;
}

describe('the destinations service', () => {
  let app: AnalyticsApp;
  let destinations: DestinationsService;

  beforeAll(async () => {
    app = await starting({ limitPerTenant: 3 });
    destinations = app.context.get(DestinationsService);
  });
  afterAll(() => app.close());

  const wrong = (fields: object): Promise<string[]> =>
    problemsOf(destinations.create({ tenant: 'wrong', urls: [URL], ...fields }));

  it('lists all problems of a destination, in the words of the options', async () => {
    const fields = {
      urls: ['ftp://x', 'http://10.0.0.1/'],
      headers: { Host: 'x' },
      sharedSecret: '',
      timeout: 0,
    };
    expect(await wrong({ ...fields, evnets: [] })).toEqual([
      expect.stringMatching(/^- `evnets`: expected one of .*, got an unknown name; did you mean `events`\?$/),
      '- `urls[0]`: expected a URL with the scheme http: or https:, got another scheme',
      '- `urls[1]`: expected a public address, unless `allowPrivateNetwork` is true, got a private or reserved address',
      '- `headers["Host"]`: expected a header of your own, got a reserved header: it is set automatically or not allowed',
      '- `sharedSecret`: expected a non-empty string (leave it out to send unsigned), got an empty string',
      '- `timeout`: expected milliseconds, an integer from 1 to 2147483647, got 0 (number)',
    ]);
  });

  it.each([
    [{ tenant: '' }, '`tenant`'],
    [{ tenant: 'a\u0000b' }, '`tenant`'],
    [{ tenant: '\ud800' }, '`tenant`'],
    [{ tenant: 7 }, '`tenant`'],
    [{ urls: [] }, '`urls`'],
    [{ urls: ['http://localhost/'] }, '`urls[0]`'],
    [{ name: 'x'.repeat(201) }, '`name`'],
    [{ events: [] }, '`events`'],
    [{ events: ['a*b'] }, '`events[0]`'],
    [{ events: ['ok', 7] }, '`events[1]`'],
    [{ types: [] }, '`types`'],
    [{ types: ['Track'] }, '`types[0]`'],
    [{ sources: ['nowhere'] }, '`sources`'],
    [{ sources: [] }, '`sources`'],
    [{ timeout: 60_001 }, '`timeout`'],
    [{ retryWindow: 8 * 86_400_000 }, '`retryWindow`'],
    [{ standardWebhooks: { secret: 'whsec_short' } }, '`standardWebhooks.secret`'],
    [{ metadata: [] }, '`metadata`'],
    [{ metadata: { n: 1n } }, '`metadata`'],
    [{ metadata: { text: 'x'.repeat(20_000) } }, '`metadata`'],
    [{ enabled: 'yes' }, '`enabled`'],
    [{ allowPrivateNetwork: true }, '`allowPrivateNetwork`'],
    [{ id: 'mine' }, '`id`'],
  ])('refuses %j', async (fields, path) => {
    expect(await wrong(fields)).toEqual([expect.stringContaining(`- ${path}: `)]);
  });

  it('refuses a destination without any source, and says how it gets the messages of all sources', async () => {
    const problem = [
      '- `sources`: expected names of sources, at least one; leave it out for all, got an empty array',
    ];
    expect(await wrong({ sources: [] })).toEqual(problem);
    const { id } = await destinations.create({ tenant: 'sourceless', urls: [URL], sources: ['default'] });
    expect(await problemsOf(destinations.update(id, { sources: [] }))).toEqual(problem);
    expect(await destinations.get(id)).toMatchObject({ sources: ['default'] });
  });

  it('accepts metadata of the greatest depth, and refuses deeper metadata', async () => {
    const metadata = nested(100);
    const { id } = await destinations.create({ tenant: 'deep', urls: [URL], metadata });
    expect(await destinations.get(id)).toMatchObject({ metadata });
    const problem =
      '- `metadata`: expected an object that JSON can hold, at most 100 levels deep, got an object that JSON cannot hold, or a deeper one';
    expect(await wrong({ metadata: nested(101) })).toEqual([problem]);
    // JSON itself has no depth limit, but the stack has.
    expect(await wrong({ metadata: nested(8_000) })).toEqual([problem]);
  });

  it('has a limit for each tenant, and none for the application itself', async () => {
    for (let n = 0; n < 3; n++) await destinations.create({ tenant: 'full', urls: [URL] });
    await expect(destinations.create({ tenant: 'full', urls: [URL] })).rejects.toMatchObject({
      code: 'DESTINATION_LIMIT',
      limit: 3,
    });
    for (let n = 0; n < 4; n++) await destinations.create({ urls: [URL] });
  });

  it('says that an undefined tenant should be left out', async () => {
    const undefinedTenant = Object.assign({ urls: [URL] }, { tenant: undefined });
    await expect(destinations.create(undefinedTenant)).rejects.toThrow(
      'leave the field out for a destination that gets the messages of all tenants, got undefined',
    );
    await expect(destinations.list({ tenant: undefined })).rejects.toThrow(
      'the tenant that makes the call; leave it out if the application itself makes it, got undefined',
    );
  });

  it('returns a generated secret once, and never a given secret', async () => {
    const made = await destinations.create({ tenant: 'secrets', urls: [URL] });
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const given = await destinations.create({ tenant: 'secrets', urls: [URL], sharedSecret: 'teehee' });
    expect(given).toMatchObject({ secret: undefined, signatures: ['X-Signature'] });
    expect(await destinations.get(made.id)).not.toHaveProperty('secret');
  });

  it('lists in pages, in the order of creation', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push((await destinations.create({ tenant: 'pages', urls: [URL] })).id);
    const first = await destinations.list({ tenant: 'pages', limit: 2 });
    const { cursor } = first;
    const second = await destinations.list({ tenant: 'pages', limit: 2, cursor });
    expect([...first.destinations, ...second.destinations].map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(second).toMatchObject({ cursor: undefined });
    expect((await destinations.list()).destinations.length).toBeGreaterThan(3);
    await problemsOf(destinations.list({ limit: 0 }));
  });

  it('changes the given fields only', async () => {
    const { id } = await destinations.create({
      tenant: 'changes',
      urls: [URL],
      name: 'one',
      events: ['E'],
      headers: { 'X-Team': 'one' },
      sharedSecret: 'teehee',
    });
    const changed = await destinations.update(id, { name: 'two', events: null, timeout: undefined });
    expect(changed).toMatchObject({
      name: 'two',
      events: undefined,
      headers: ['X-Team'],
      signatures: ['X-Signature'],
      tenant: 'changes',
      version: 2,
    });
    expect(await destinations.get(id)).toEqual(changed);
    const resigned = await destinations.update(id, { sharedSecret: null, headers: null });
    expect(resigned).toMatchObject({ headers: [], signatures: [] });
    expect(await problemsOf(destinations.update(id, { urls: [] }))).toEqual([
      '- `urls`: expected 1 to 5 URLs, got 0',
    ]);
    const unknown: object = { url: URL };
    expect(await problemsOf(destinations.update(id, unknown))).toEqual([
      expect.stringContaining('`url`: expected one of'),
    ]);
  });

  it('says that `tenant` cannot change and that `enabled` has calls of its own', async () => {
    const { id } = await destinations.create({ tenant: 'acme', urls: [URL] });
    const update = { name: 'two', enabled: false, tenant: null };
    expect(await problemsOf(destinations.update(id, update))).toEqual([
      '- `tenant`: expected no value: the tenant of a destination never changes, got undefined',
      '- `enabled`: expected no value: call `enable` or `disable` instead, got false (boolean)',
    ]);
  });

  it('refuses an update of an old version', async () => {
    const { id, version } = await destinations.create({ tenant: 'versions', urls: [URL] });
    await destinations.update(id, { name: 'first' }, { version });
    await expect(destinations.update(id, { name: 'second' }, { version })).rejects.toMatchObject({
      code: 'DESTINATION_CHANGED',
      message: expect.stringContaining('since the given version was read'),
    });
    expect(await destinations.get(id)).toMatchObject({ name: 'first', version: 2 });
  });

  it('loses none of several simultaneous updates', async () => {
    const { id } = await destinations.create({ tenant: 'races', urls: [URL] });
    const updates = [{ name: 'n' }, { description: 'd' }, { events: ['e'] }, { timeout: 7 }];
    await Promise.all(updates.map((update) => destinations.update(id, update)));
    expect(await destinations.get(id)).toMatchObject({
      name: 'n',
      description: 'd',
      events: ['e'],
      timeout: 7,
      version: 5,
    });
  });

  it('limits the number of rotated secrets to the size of a header, and rotates only Standard Webhooks secrets', async () => {
    const { id } = await destinations.create({ tenant: 'rotate', urls: [URL] });
    for (let n = 0; n < 4; n++) await destinations.rotateSecret(id);
    expect(await problemsOf(destinations.rotateSecret(id))).toEqual([
      '- `standardWebhooks`: expected at most 5 secrets that sign, got 6',
    ]);
    await problemsOf(destinations.rotateSecret(id, { overlap: -1 }));
    const shared = await destinations.create({ tenant: 'rotate', urls: [URL], sharedSecret: 'teehee' });
    expect(await problemsOf(destinations.rotateSecret(shared.id))).toEqual([
      expect.stringContaining('so update `sharedSecret`'),
    ]);
  });

  it('emits the changes that this process made', async () => {
    const events: DestinationEvent[] = [];
    const subscription = destinations.changes$.subscribe((event) => events.push(event));
    const { id } = await destinations.create({ tenant: 'told', urls: [URL] });
    await destinations.update(id, { name: 'one' });
    await destinations.disable(id);
    await destinations.enable(id);
    await destinations.rotateSecret(id);
    await destinations.delete(id);
    subscription.unsubscribe();
    const types = ['created', 'updated', 'disabled', 'enabled', 'secret rotated', 'deleted'];
    expect(events).toEqual(types.map((type) => ({ type, id, tenant: 'told' })));
    await expect(destinations.get(id)).rejects.toMatchObject({ code: 'DESTINATION_NOT_FOUND' });
  });
});

describe('the tenant of a user who has not signed in', () => {
  let app: AnalyticsApp;
  beforeAll(async () => {
    app = await starting({});
  });
  afterAll(() => app.close());

  it.each([undefined, null])('does not grant operator access if it is %s', async (none) => {
    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'mine', urls: [URL] });
    const mine = await destinations.get(id);
    // As from a header or a session that may have no tenant.
    const scope = { tenant: none as unknown as string };
    const calls = [
      destinations.create({ ...scope, urls: [URL] }),
      destinations.get(id, scope),
      destinations.list(scope),
      destinations.update(id, { name: 'taken' }, scope),
      destinations.delete(id, scope),
      destinations.enable(id, scope),
      destinations.disable(id, scope),
      destinations.rotateSecret(id, scope),
      destinations.sendTest(id, scope),
    ];
    for (const call of calls) {
      expect(await problemsOf(call)).toEqual([
        expect.stringMatching(`^- \`tenant\`: expected .*, got ${none}$`),
      ]);
    }
    const deliveries = app.context.get(DeliveriesService);
    const refused = { code: 'INVALID_FILTER', message: `Expected \`tenant\` to be a string, got ${none}` };
    await expect(deliveries.recent({ destination: id, ...scope })).rejects.toMatchObject(refused);
    await expect(deliveries.stats({ destination: id, ...scope })).rejects.toMatchObject(refused);
    expect(await destinations.get(id)).toEqual(mine);
  });
});

describeServersOrEmbedded('the destinations of another tenant', (backend) => {
  it('are not found by their ids in any call, and stay unchanged', async () => {
    const app = await AnalyticsApp.start({ connection: backend.connection, destinations: {} });
    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'mine', urls: [URL] });
    const mine = await destinations.get(id);
    const scope = { tenant: 'yours' };
    const calls = [
      destinations.get(id, scope),
      destinations.update(id, { name: 'taken' }, scope),
      destinations.update(id, { name: 'taken' }, { ...scope, version: 1 }),
      destinations.delete(id, scope),
      destinations.enable(id, scope),
      destinations.disable(id, scope),
      destinations.rotateSecret(id, scope),
      destinations.sendTest(id, scope),
      destinations.get('unknown', scope),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'DESTINATION_NOT_FOUND' });
    expect(await destinations.get(id, { tenant: 'mine' })).toEqual(mine);
    await app.close();
  });

  it("are in no list, not even with another tenant's cursor", async () => {
    const app = await AnalyticsApp.start({ connection: backend.connection, destinations: {} });
    const destinations = app.context.get(DestinationsService);
    const create = async (tenant: string): Promise<string> =>
      (await destinations.create({ tenant, urls: [URL] })).id;
    const foreign = [await create('mine'), await create('mine')].sort();
    expect(await destinations.list({ tenant: 'yours' })).toEqual({ destinations: [], cursor: undefined });
    const own = await create('yours');
    const everywhere = [undefined, foreign[0], `${foreign[1]}0`, ''];
    for (const cursor of everywhere) {
      for (const limit of [1, 100]) {
        const page = await destinations.list({ tenant: 'yours', cursor, limit });
        expect(page.destinations.filter(({ id }) => id !== own)).toEqual([]);
      }
    }
    const { cursor } = await destinations.list({ tenant: 'mine', limit: 1 });
    const after = await destinations.list({ tenant: 'yours', cursor });
    expect(after.destinations.map(({ id }) => id)).toEqual(cursor !== undefined && cursor < own ? [own] : []);
    // Similar names are other tenants.
    for (const tenant of ['Mine', 'mine ', 'min', 'mine:', '*', 'mine*']) {
      expect((await destinations.list({ tenant })).destinations).toEqual([]);
    }
    await app.close();
  });

  it('do not include those of the application itself for a name that no tenant can have', async () => {
    const app = await AnalyticsApp.start({ connection: backend.connection, destinations: {} });
    const destinations = app.context.get(DestinationsService);
    const deliveries = app.context.get(DeliveriesService);
    const { id } = await destinations.create({ urls: [URL] });
    const own = await destinations.get(id);
    for (const tenant of ['', '\u0000', '\ud800', 'x'.repeat(201)]) {
      const scope = { tenant };
      expect(await destinations.list(scope)).toEqual({ destinations: [], cursor: undefined });
      expect(await destinations.list({ ...scope, enabled: false, limit: 1 })).toMatchObject({
        destinations: [],
      });
      await expect(destinations.create({ ...scope, urls: [URL] })).rejects.toMatchObject({
        code: 'INVALID_DESTINATION',
      });
      const calls = [
        destinations.get(id, scope),
        destinations.update(id, { name: 'taken' }, scope),
        destinations.delete(id, scope),
        destinations.enable(id, scope),
        destinations.disable(id, scope),
        destinations.rotateSecret(id, scope),
        destinations.sendTest(id, scope),
        deliveries.recent({ destination: id, ...scope }),
        deliveries.stats({ destination: id, ...scope }),
      ];
      for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'DESTINATION_NOT_FOUND' });
    }
    expect(await destinations.get(id)).toEqual(own);
    await app.close();
  });
});

describeServersOrEmbedded('a destination that is changed very often at the same moment', (backend) => {
  it('takes all updates if none of them requires a version', async () => {
    const app = await AnalyticsApp.start({ connection: backend.connection, destinations: {} });
    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ urls: [URL] });
    const updates = Array.from({ length: 40 }, (_, n) => destinations.update(id, { name: `n${n}` }));
    const refused = (await Promise.allSettled(updates)).filter(({ status }) => status === 'rejected');
    expect(refused).toEqual([]);
    expect(await destinations.get(id)).toMatchObject({ version: 41 });
    await app.close();
  });
});

describeServersOrEmbedded('an id that no destination can have', (backend) => {
  it('is not found by any call, but works as a cursor', async () => {
    const app = await AnalyticsApp.start({ connection: backend.connection, destinations: {} });
    const destinations = app.context.get(DestinationsService);
    const deliveries = app.context.get(DeliveriesService);
    const { id: own } = await destinations.create({ tenant: 'acme', urls: [URL] });
    // An id may come from the path of a request, where `%00` is one character.
    for (const id of ['', '\u0000', `${own}\u0000`, `\u0000${own}`, '\ud800']) {
      const calls = [
        destinations.get(id),
        destinations.update(id, { name: 'taken' }),
        destinations.delete(id),
        destinations.enable(id),
        destinations.disable(id),
        destinations.rotateSecret(id),
        destinations.sendTest(id),
        deliveries.recent({ destination: id }),
        deliveries.stats({ destination: id }),
        deliveries.replay({ destination: id }),
        deliveries.sendTest(id),
        deliveries.explain({ destination: id, messageId: 'm1', body: '{}' }),
      ];
      for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'DESTINATION_NOT_FOUND' });
      expect(await deliveries.failed({ destination: id })).toEqual([]);
    }
    const after = async (cursor: string): Promise<string[]> => {
      const pages = [
        await destinations.list({ cursor }),
        await destinations.list({ tenant: 'acme', cursor }),
      ];
      return pages.flatMap((page) => page.destinations.map(({ id }) => id));
    };
    expect(await after('\u0000')).toEqual([own, own]);
    expect(await after(`${own.slice(0, -1)}\u0000`)).toEqual([own, own]);
    expect(await after(`${own}\u0000`)).toEqual([]);
    await app.close();
  });
});

describeAnyServer('a test event of a destination at run time', (backend) => {
  it('goes to each of its URLs, even while the destination is disabled', async () => {
    const receiver = await Receiver.start();
    const app = await AnalyticsApp.start({
      connection: backend.connection,
      destinations: { allowPrivateNetwork: true },
    });
    const destinations = app.context.get(DestinationsService);
    const urls = [receiver.url('/one'), receiver.url('/two')];
    const { id } = await destinations.create({ tenant: 'acme', urls, enabled: false });
    expect(await destinations.sendTest(id, { tenant: 'acme' })).toMatchObject([
      { class: 'delivered', status: 200 },
      { class: 'delivered', status: 200 },
    ]);
    expect(receiver.requests.map(({ url }) => url).sort()).toEqual(['/one', '/two']);
    await app.close();
    await receiver.close();
  });
});

describe('the option `destinations`', () => {
  it.each([
    [
      { encryptionKey: 'short' },
      '`destinations.encryptionKey`: expected 32 bytes as base64 or hex, got another string',
    ],
    [{ encryptionKey: [] }, '`destinations.encryptionKey`: expected at least one key'],
    [{ encryptionKey: [randomBytes(32).toString('hex'), 7] }, '`destinations.encryptionKey[1]`'],
    [{ limitPerTenant: -1 }, '`destinations.limitPerTenant`'],
    [{ backlogLimit: 0 }, '`destinations.backlogLimit`'],
    [{ tenant: 'acme' }, '`destinations.tenant`: expected a function'],
    [
      { store: { findById: () => undefined } },
      'expected an object with at least the methods findByTenant and findById',
    ],
    [{ limit: 3 }, '`destinations.limit`: expected one of'],
    ['yes', '`destinations`: expected'],
  ])('is refused as %j', async (destinations, text) => {
    await expect(starting(destinations as AnalyticsModuleOptions['destinations'])).rejects.toThrow(text);
  });

  it('limits a tenant to 20 destinations by default', async () => {
    const app = await starting({});
    const destinations = app.context.get(DestinationsService);
    for (let n = 0; n < 20; n++) await destinations.create({ tenant: 'acme', urls: [URL] });
    await expect(destinations.create({ tenant: 'acme', urls: [URL] })).rejects.toMatchObject({
      code: 'DESTINATION_LIMIT',
      limit: 20,
    });
    await app.close();
  });

  it('causes one warning that secrets are not encrypted, unless this is intended', async () => {
    const warned = await starting({});
    expect(warned.log.analytics.filter((line) => line.includes('encryptionKey'))).toHaveLength(1);
    await warned.close();
    for (const intended of [
      { encryptionKey: false } as const,
      { encryptionKey: randomBytes(32).toString('hex') },
    ]) {
      const quiet = await starting(intended);
      expect(quiet.log.analytics.join()).not.toContain('encryptionKey');
      await quiet.close();
    }
  });

  it('requires a key in production, unless the key is declined or the store is read-only', async () => {
    const before = process.env.NODE_ENV;
    process.env.NODE_ENV = 'production';
    try {
      await expect(starting({})).rejects.toThrow('`destinations.encryptionKey`: expected 32 bytes');
      await (await starting({ encryptionKey: false })).close();
      const memory = new MemoryDestinationStore();
      const store = {
        findByTenant: (tenant: string | undefined) => memory.findByTenant(tenant),
        findById: (id: string) => memory.findById(id),
      };
      await (await starting({ store })).close();
    } finally {
      process.env.NODE_ENV = before;
    }
  });

  it('rejects a change if others were faster at each try', async () => {
    class BusyStore extends MemoryDestinationStore {
      override async replace(destination: StoredDestination): Promise<boolean> {
        await super.replace({ ...destination, name: 'theirs' });
        return super.replace(destination);
      }
    }
    const app = await starting({ store: new BusyStore(), encryptionKey: false });
    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [URL] });
    await expect(destinations.update(id, { name: 'ours' })).rejects.toMatchObject({
      code: 'DESTINATION_CHANGED',
      message: expect.stringMatching(
        /changed by others every time .* so this change was not made\. Repeat it\.$/,
      ),
    });
    expect(await destinations.get(id)).toMatchObject({ name: 'theirs' });
    await app.close();
  });

  it('makes all calls of the service reject if it is not given', async () => {
    const app = await starting(undefined);
    const destinations = app.context.get(DestinationsService);
    await expect(destinations.create({ urls: [URL] })).rejects.toMatchObject({
      code: 'DESTINATIONS_DISABLED',
    });
    await expect(destinations.list()).rejects.toMatchObject({ code: 'DESTINATIONS_DISABLED' });
    await app.close();
  });
});
