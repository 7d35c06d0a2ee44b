import { describe, expect, it } from '@jest/globals';
import { InvalidOptionsError, type OptionProblem } from '../../src/index.js';
import { type ModuleExtras, resolveOptions } from '../../src/options/resolve-options.js';

const URL = 'https://hooks.example.com/events';
const webhooks = { urls: [URL] };

function problemsOf(given: unknown, worker = true, extras: ModuleExtras = {}): readonly OptionProblem[] {
  try {
    resolveOptions(given, { worker, ...extras });
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems;
    throw error;
  }
  return [];
}

/** Returns options with some options of the destination changed. */
function withWebhooks(changed: object): object {
  return { writeKey: 'wk', webhooks: { ...webhooks, ...changed } };
}

describe('wrong options', () => {
  it.each<[string, unknown, string]>([
    ['no options at all', undefined, 'options'],
    ['neither a write key nor sources', {}, 'writeKey'],
    ['an empty write key', { writeKey: '' }, 'writeKey'],
    ['a write key beside sources', { writeKey: 'wk', sources: [{ name: 'a', writeKey: 'b' }] }, 'writeKey'],
    ['no source in sources', { sources: [] }, 'sources'],
    ['a source without a name', { sources: [{ writeKey: 'wk' }] }, 'sources[0].name'],
    ['a source without a write key', { sources: [{ name: 'web' }] }, 'sources[0].writeKey'],
    [
      'two sources of one name',
      {
        sources: [
          { name: 'web', writeKey: 'a' },
          { name: 'web', writeKey: 'b' },
        ],
      },
      'sources[1].name',
    ],
    [
      'two sources of one write key',
      {
        sources: [
          { name: 'web', writeKey: 'a' },
          { name: 'app', writeKey: 'a' },
        ],
      },
      'sources[1].writeKey',
    ],
    ['an unknown name', { writeKey: 'wk', webhook: webhooks }, 'webhook'],
    ['a history that is no boolean', { writeKey: 'wk', history: { limit: 10 } }, 'history'],
    ['an unknown name in a source', { sources: [{ name: 'a', writeKey: 'b', on: 1 }] }, 'sources[0].on'],
    ['webhooks that are a string', { writeKey: 'wk', webhooks: URL }, 'webhooks'],
    ['an unknown name in webhooks', withWebhooks({ url: URL }), 'webhooks.url'],
    ['no URLs', withWebhooks({ urls: undefined }), 'webhooks.urls'],
    ['an empty list of URLs', withWebhooks({ urls: [] }), 'webhooks.urls'],
    ['a sixth URL', withWebhooks({ urls: [1, 2, 3, 4, 5, 6].map((n) => `${URL}/${n}`) }), 'webhooks.urls'],
    ['a relative URL', withWebhooks({ urls: ['/events'] }), 'webhooks.urls[0]'],
    ['a URL of another scheme', withWebhooks({ urls: [URL, 'ftp://example.com'] }), 'webhooks.urls[1]'],
    ['a URL twice', withWebhooks({ urls: [URL, URL] }), 'webhooks.urls[1]'],
    ['a private address', withWebhooks({ urls: ['http://10.0.0.1/'] }), 'webhooks.urls[0]'],
    ['a name of this machine', withWebhooks({ urls: ['http://localhost:3000/'] }), 'webhooks.urls[0]'],
    ['a password in a URL', withWebhooks({ urls: ['https://u:p@example.com/'] }), 'webhooks.urls[0]'],
    [
      'a sixth header',
      withWebhooks({ headers: Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [`X-${n}`, 'v'])) }),
      'webhooks.headers',
    ],
    ['a reserved header', withWebhooks({ headers: { Host: 'v' } }), 'webhooks.headers["Host"]'],
    [
      'headers that are `Headers`',
      withWebhooks({ headers: new Headers({ 'X-A': 'v' }) }),
      'webhooks.headers',
    ],
    ['headers that are a `Map`', withWebhooks({ headers: new Map([['X-A', 'v']]) }), 'webhooks.headers'],
    [
      'a schema of a source that is a `Map`',
      { sources: [{ name: 'a', writeKey: 'b', schema: new Map([['Opened', false]]) }] },
      'sources[0].schema',
    ],
    [
      'a rule of such a schema that is a `Map`',
      { sources: [{ name: 'a', writeKey: 'b', schema: { Opened: new Map([['Webhooks', false]]) } }] },
      'sources[0].schema["Opened"]',
    ],
    ['events that are a `Map`', { writeKey: 'wk', events: new Map() }, 'events'],
    ['a context that is a `Map`', { writeKey: 'wk', context: new Map([['app', 'shop']]) }, 'context'],
    [
      'integrations of audiences that are a `Map`',
      { writeKey: 'wk', audiences: { integrations: new Map([['All', false]]) } },
      'audiences.integrations',
    ],
    ['headers that are a list', withWebhooks({ headers: ['X-A: v'] }), 'webhooks.headers'],
    ['an empty shared secret', withWebhooks({ sharedSecret: '' }), 'webhooks.sharedSecret'],
    ['a timeout of 0', withWebhooks({ timeout: 0 }), 'webhooks.timeout'],
    ['a timeout as a string', withWebhooks({ timeout: '5000' }), 'webhooks.timeout'],
    ['a limit of 0 failed messages', withWebhooks({ failedLimit: 0 }), 'webhooks.failedLimit'],
    ['a backlog limit of 0', withWebhooks({ backlogLimit: 0 }), 'webhooks.backlogLimit'],
    ['a backlog limit of 1.5', withWebhooks({ backlogLimit: 1.5 }), 'webhooks.backlogLimit'],
    ['a retry window longer than a timer', withWebhooks({ retryWindow: 2 ** 31 }), 'webhooks.retryWindow'],
    ['a retry status that is a success', withWebhooks({ retryStatuses: [204] }), 'webhooks.retryStatuses'],
    ['a retry status of another class', withWebhooks({ retryStatuses: ['4xx'] }), 'webhooks.retryStatuses'],
    ['a source that is not there', withWebhooks({ sources: ['web'] }), 'webhooks.sources'],
    ['no source for a destination', withWebhooks({ sources: [] }), 'webhooks.sources'],
    [
      'no source for a custom destination',
      { writeKey: 'wk', customDestinations: [{ id: 'lake', deliver: () => undefined, sources: [] }] },
      'customDestinations[0].sources',
    ],
    ['a list of webhooks without ids', { writeKey: 'wk', webhooks: [webhooks] }, 'webhooks[0].id'],
    [
      'a list of webhooks with the same ids',
      {
        writeKey: 'wk',
        webhooks: [
          { ...webhooks, id: 'crm' },
          { ...webhooks, id: 'crm' },
        ],
      },
      'webhooks[1].id',
    ],
    ['a queue of another kind', { writeKey: 'wk', connection: 'mysql://localhost' }, 'connection'],
    ['an empty URL of a queue', { writeKey: 'wk', connection: '' }, 'connection'],
    ['a queue that is `null`', { writeKey: 'wk', connection: null }, 'connection'],
    [
      'a database of Redis that is no number',
      { writeKey: 'wk', connection: 'redis://localhost/jobs' },
      'connection',
    ],
    [
      'a port that there is not of a Redis',
      { writeKey: 'wk', connection: 'redis://localhost:99999' },
      'connection',
    ],
    [
      'a password of a Redis that ends its URL',
      { writeKey: 'wk', connection: 'redis://:to#ken@localhost' },
      'connection',
    ],
    [
      'a password of a PostgreSQL that ends its URL',
      { writeKey: 'wk', connection: 'postgres://shop:to#ken@db/shop' },
      'connection',
    ],
    [
      'a password of the PostgreSQL of an outbox that ends its URL',
      { writeKey: 'wk', outbox: { connection: 'postgres://shop:to?ken@db/shop' } },
      'outbox.connection',
    ],
    ...[
      'postgres://a:1,b:2/db',
      'postgres://a,b/db',
      'postgres://shop:50%ab@db/shop',
      'postgres://shop:123#4@db/shop',
      'postgres://shop:#4@db/shop',
      'postgres://shop:12?4@db/shop',
      'postgres://shop:12/4@db/shop',
      'postgres://shop:a b@[::1]/shop',
      'postgres://shop:100%\ud800@db/shop',
      'postgres://shop:\ud800@db/shop',
      'redis://:50%ab@localhost',
      'redis://:\ud800@localhost',
      'redis://shop:123#4@localhost',
    ].map((connection): [string, object, string] => [
      `the URL ${connection}`,
      { writeKey: 'wk', connection },
      'connection',
    ]),
    ['a Redis without a place', { writeKey: 'wk', connection: { hostname: 'redis.example' } }, 'connection'],
    [
      'a Redis at the URL of something else',
      { writeKey: 'wk', connection: { url: 'http://x' } },
      'connection',
    ],
    [
      'a cluster of another library',
      { writeKey: 'wk', connection: { isCluster: true, duplicate: () => undefined } },
      'connection',
    ],
    [
      "a prefix of ioredis, which BullMQ doesn't take",
      { writeKey: 'wk', connection: { host: 'redis', keyPrefix: 'shop:' } },
      'connection.keyPrefix',
    ],
    [
      'the same of a cluster',
      {
        writeKey: 'wk',
        connection: { cluster: [{ host: 'redis', port: 6379 }], redisOptions: { keyPrefix: 'shop:' } },
      },
      'connection.keyPrefix',
    ],
    ['a Redis Cluster without nodes', { writeKey: 'wk', connection: { cluster: [] } }, 'connection.cluster'],
    [
      'a node of a Redis Cluster that is none',
      { writeKey: 'wk', connection: { cluster: ['redis.example'] } },
      'connection.cluster',
    ],
    ['a prefix with capitals', { writeKey: 'wk', connection: 'redis://localhost', prefix: 'Shop' }, 'prefix'],
    ['a prefix that is empty', { writeKey: 'wk', connection: 'redis://localhost', prefix: '' }, 'prefix'],
    ['a prefix like an option', { writeKey: 'wk', connection: 'redis://localhost', prefix: '-a' }, 'prefix'],
    ['no partition', { writeKey: 'wk', connection: 'redis://localhost', partitions: 0 }, 'partitions'],
    [
      'partitions of a queue that cannot have them',
      { writeKey: 'wk', connection: 'postgres://localhost/db', partitions: 2 },
      'partitions',
    ],
    ['a number as a connection', { writeKey: 'wk', connection: 6379 }, 'connection'],
    [
      'an empty folder',
      { writeKey: 'wk', connection: { embedded: { dataDir: '' } } },
      'connection.embedded.dataDir',
    ],
    [
      'an unknown durability',
      { writeKey: 'wk', connection: { embedded: { durability: 'none' } } },
      'connection.embedded.durability',
    ],
    ['a flushAt of 0', { writeKey: 'wk', flushAt: 0 }, 'flushAt'],
    ['a flushAt of 1.5', { writeKey: 'wk', flushAt: 1.5 }, 'flushAt'],
    ['a negative flushAfter', { writeKey: 'wk', flushAfter: -1 }, 'flushAfter'],
    ['a flushAfter of NaN', { writeKey: 'wk', flushAfter: NaN }, 'flushAfter'],
    ['a buffer that is a string', { writeKey: 'wk', maxBufferedBytes: '64 MiB' }, 'maxBufferedBytes'],
    ['a concurrency of 0', { writeKey: 'wk', concurrency: 0 }, 'concurrency'],
    ['connections of 0', { writeKey: 'wk', connections: 0 }, 'connections'],
    ['an endless shutdown', { writeKey: 'wk', shutdownTimeout: Infinity }, 'shutdownTimeout'],
    ['a negative time for unknown jobs', { writeKey: 'wk', unknownJobTimeout: -1 }, 'unknownJobTimeout'],
    ['a context that is a list', { writeKey: 'wk', context: [] }, 'context'],
    ['a beforeSend that is no function', { writeKey: 'wk', beforeSend: 'drop' }, 'beforeSend'],
    ['an enabled that is a string', { writeKey: 'wk', enabled: 'true' }, 'enabled'],
  ])('are reported with the path, what is expected and what was given: %s', (_, given, path) => {
    const problem = problemsOf(given).find((one) => one.path === path);
    expect(problem).toEqual({
      path,
      expected: expect.stringMatching(/\S/),
      given: expect.stringMatching(/\S/),
    });
  });

  it('are all refused at once, in one list', () => {
    const given = { writeKey: '', flushAt: 0, webhooks: { urls: [], sharedSecret: '' }, typo: 1 };
    expect(problemsOf(given).map(({ path }) => path).sort()).toEqual([
      'flushAt', 'typo', 'webhooks.sharedSecret', 'webhooks.urls', 'writeKey',
    ]); // prettier-ignore
    expect(() => resolveOptions(given, { worker: true })).toThrow(
      /`flushAt`: expected an integer >= 1, got 0 \(number\)/,
    );
  });

  it.each([
    [
      { writeKey: 'wk', typo: 1 },
      'typo',
      /, or one of the extras isGlobal, worker, trackingApi, sourceNames$/,
    ],
    [
      { writeKey: 'wk', webhooks: [webhooks, webhooks] },
      'webhooks[1].id',
      /an `id` is required when there are/,
    ],
    [{ writeKey: 'wk', console: true }, 'console', /^`\{ authorize, path, frameAncestors \}`$/],
    ...['schema', 'table'].map((name): [object, string, RegExp] => [
      { writeKey: 'wk', outbox: { connection: 'postgres://db/shop', [name]: '2024_outbox' } },
      `outbox.${name}`,
      /digits and underscores that does not begin with a digit$/,
    ]),
  ])('cause an error that says what may be given: %j', (given, path, expected) => {
    const problem = problemsOf(given).find((one) => one.path === path);
    expect(problem?.expected).toMatch(expected);
  });

  it('cause an error that names the unit of a time', () => {
    expect(() => resolveOptions(withWebhooks({ timeout: '5s' }), {})).toThrow(
      '`webhooks.timeout`: expected milliseconds, an integer from 1 to 2147483647, got "5s" (string)',
    );
  });

  it.each([
    ['webhook', { writeKey: 'wk', webhook: webhooks }, 'webhooks'],
    ['flushat', { writeKey: 'wk', flushat: 1 }, 'flushAt'],
    ['workers', { writeKey: 'wk', workers: false }, 'worker'],
    ['webhooks.url', withWebhooks({ url: URL }), 'urls'],
    ['webhooks.shared_secret', withWebhooks({ shared_secret: 's' }), 'sharedSecret'],
    ['sources[0].writekey', { sources: [{ name: 'a', writekey: 'b' }] }, 'writeKey'],
    ['trackingApi.ratelimit', { writeKey: 'wk' }, 'rateLimit'],
  ])('cause an error that says what was probably meant by %s', (path, given, meant) => {
    const problems = problemsOf(given, true, { trackingApi: { ratelimit: 1 } });
    expect(problems).toContainEqual({
      path,
      expected: expect.stringMatching(/^one of the options /),
      given: `an unknown name; did you mean \`${meant}\`?`,
    });
  });

  it.each(['worker', 'isGlobal', 'trackingApi', 'sourceNames'])(
    'cause an error that says where the extra %s belongs if a factory returns it',
    (name) => {
      expect(problemsOf({ writeKey: 'wk', [name]: true })).toEqual([
        {
          path: name,
          expected: 'this extra beside `useFactory`, not in what it returns',
          given: 'the extra among the options',
        },
      ]);
    },
  );

  it.each<[keyof ModuleExtras, unknown, expected: RegExp, got: string]>([
    ['worker', 'no', /^a boolean$/, '"no" (string)'],
    ['worker', 0, /^a boolean$/, '0 (number)'],
    ['isGlobal', 'false', /^a boolean$/, '"false" (string)'],
    ['trackingApi', 'yes', /^a boolean or /, '"yes" (string)'],
    ['sourceNames', 'default', /^an array of names of sources \(default\)$/, 'a value of type string'],
    ['sourceNames', ['web'], /^an array of names of sources \(default\)$/, '"web" (string)'],
    ['sourceNames', [7], /^an array of names of sources \(default\)$/, '7 (number)'],
  ])('are refused if the extra %s is %j', (name, value, expected, got) => {
    expect(problemsOf({ writeKey: 'wk' }, true, { [name]: value })).toEqual([
      { path: name, expected: expect.stringMatching(expected), given: got },
    ]);
  });

  it('cause an error without any secret, URL or value of a header', () => {
    const given = {
      sources: [
        { name: 'a', writeKey: 'token-a' },
        { name: 'b', writeKey: 'token-a' },
      ],
      connection: 'mysql://user:token-b@db/',
      webhooks: {
        urls: ['ftp://example.com/token-c', 'https://user:token-d@example.com/', 'token-e'],
        sharedSecret: ['token-f'],
        headers: { 'X-A': 'token-g\n' },
      },
    };
    expect(problemsOf(given).length).toBeGreaterThanOrEqual(6);
    expect(() => resolveOptions(given, { worker: true })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('token-') }),
    );
  });

  it.each<[string, object]>([
    ['outbox', { outbox: 'postgres://shop:token@db/shop' }],
    ['connection.cluster', { connection: { cluster: 'redis://:token@node:6379' } }],
    ['connection.embedded', { connection: { embedded: 'postgres://shop:token@db/shop' } }],
    ['webhooks', { webhooks: 'https://hooks.example.com/token' }],
    ['webhooks.urls', withWebhooks({ urls: 'https://hooks.example.com/token' })],
    ['webhooks.headers', withWebhooks({ headers: 'Authorization: Bearer token' })],
    ['destinations', { destinations: 'token' }],
    ['destinations.store', { destinations: { store: 'postgres://shop:token@db/shop' } }],
    ['destinations.api', { destinations: { api: 'token' } }],
    ['destinations.api.authorize', { destinations: { api: { authorize: 'token' } } }],
    ['console', { console: 'token' }],
    ['console.authorize', { console: { authorize: 'token' }, destinations: {} }],
    ['audiences', { audiences: 'postgres://shop:token@db/shop' }],
    ['audiences.store', { audiences: { store: 'redis://:token@localhost' } }],
    ['customDestinations[0]', { customDestinations: ['https://hooks.example.com/token'] }],
  ])(
    'cause an error without the text that was given in place of the object, list or function `%s`',
    (path, given) => {
      const problems = problemsOf({ writeKey: 'wk', ...given });
      expect(problems).toContainEqual({
        path,
        expected: expect.any(String),
        given: 'a value of type string',
      });
      expect(JSON.stringify(problems)).not.toContain('token');
    },
  );

  it('cause an error without the options themselves if they are a text', () => {
    expect(problemsOf('redis://:token@localhost')).toContainEqual({
      path: 'options',
      expected: 'an object',
      given: 'a value of type string',
    });
  });

  it('cause an error that says how to write a password that ends the URL, without that password', () => {
    const connection = 'postgres://shop:to/ken#@db/shop';
    const problems = problemsOf({ writeKey: 'wk', connection, outbox: { connection } });
    expect(problems.map(({ path }) => path)).toEqual(['connection', 'outbox.connection']);
    for (const { given } of problems) expect(given).toMatch(/cannot be read: .*`encodeURIComponent`/);
    expect(JSON.stringify(problems)).not.toContain('ken');
  });

  it.each<[string, object]>([
    ['dataDir', { embedded: {}, dataDir: '/data/token' }],
    ['durability', { embedded: { dataDir: './data' }, durability: 'process' }],
    ['host', { embedded: {}, host: 'token.example' }],
    ['cluster', { embedded: {}, cluster: ['redis://:token@node:6379'] }],
    ['password', { cluster: ['node:6379'], password: 'token' }],
    ['tls', { cluster: ['node:6379'], tls: { key: 'token' } }],
    ['url', { cluster: ['node:6379'], url: 'redis://:token@localhost' }],
    ['sentinels', { cluster: ['node:6379'], sentinels: [{ host: 'token' }] }],
  ])('include `connection.%s` where it would be ignored, without its value', (name, connection) => {
    const problems = problemsOf({ writeKey: 'wk', connection });
    expect(problems.map(({ path }) => path)).toEqual([`connection.${name}`]);
    expect(JSON.stringify(problems)).not.toContain('token');
  });

  it('do not include what a cluster takes beside its nodes', () => {
    const redisOptions = { password: 'token', tls: {} };
    const connection = {
      cluster: ['node:6379'],
      redisOptions,
      natMap: {},
      scaleReads: 'master',
      tls: undefined,
    };
    expect(problemsOf({ writeKey: 'wk', connection })).toEqual([]);
  });

  it.each(['link', 'page.js', 'page.css', 'overview', 'sources', 'live', 'changes'])(
    'include a path of `destinations.api` that is the path /%s of the console',
    (name) => {
      const authorize = (): object => ({});
      const given = (path: string): object => ({
        writeKey: 'wk',
        destinations: { encryptionKey: false, api: { authorize, path } },
        console: { authorize, path: '/admin' },
      });
      expect(problemsOf(given(`/admin/${name}`))).toEqual([
        {
          path: 'destinations.api.path',
          expected: `a path other than \`/admin/${name}\`, which \`console\` serves`,
          given: `"/admin/${name}" (string)`,
        },
      ]);
      for (const path of [`/${name}`, `/admin/api/${name}`, `/admin/${name}-api`, `/admin/${name}/api`])
        expect(problemsOf(given(path))).toEqual([]);
    },
  );

  it('include the embedded queue in a process that only produces, since no process would deliver', () => {
    expect(problemsOf({ writeKey: 'wk' }, false).map(({ path }) => path)).toEqual(['connection']);
    expect(problemsOf({ writeKey: 'wk', connection: 'redis://localhost' }, false)).toEqual([]);
    expect(problemsOf({ writeKey: 'wk', webhooks, enabled: false }, false)).toEqual([]);
  });
});
