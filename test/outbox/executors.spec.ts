import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { MikroORM } from '@mikro-orm/postgresql';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import knexOf from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { fromDrizzle, fromKnex, fromKysely, fromMikroOrm, fromPrisma, fromTypeOrm } from '../../src/index.js';
import { resolveOptions } from '../../src/options/resolve-options.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { readmeSnippet } from '../support/readme-snippet.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { prismaOf } from '../support/prisma-client.js';

const PAGE = new URL('../../docs/transactions.md', import.meta.url);
const FUNCTIONS = { fromDrizzle, fromKnex, fromKysely, fromMikroOrm, fromPrisma, fromTypeOrm, sql };

/** The variables that a snippet of the page uses, and a function that closes them. */
interface Library {
  scope: object;
  close: () => Promise<unknown>;
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

const LIBRARIES: Record<string, (url: string) => Promise<Library>> = {
  typeorm: async (url) => {
    const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
    return { scope: { dataSource }, close: () => dataSource.destroy() };
  },
  drizzle: (url) => {
    const pool = new pg.Pool({ connectionString: url });
    return Promise.resolve({ scope: { db: drizzle(pool) }, close: () => pool.end() });
  },
  kysely: (url) => {
    const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) });
    return Promise.resolve({ scope: { db }, close: () => db.destroy() });
  },
  knex: (url) => {
    const knex = knexOf({ client: 'pg', connection: url });
    return Promise.resolve({ scope: { knex }, close: () => knex.destroy() });
  },
  'mikro-orm': async (url) => {
    const orm = await MikroORM.init({
      clientUrl: url,
      entities: [],
      discovery: { warnWhenNoEntities: false },
    });
    return { scope: { em: orm.em.fork() }, close: () => orm.close() };
  },
  pg: async (url) => {
    const client = await connected(url);
    return { scope: { client }, close: () => client.end() };
  },
  prisma: (url) => {
    const prisma = prismaOf(url);
    return Promise.resolve({ scope: { prisma }, close: () => prisma.$disconnect() });
  },
};

describeWith('postgres', PostgresServer.installed, 'a transaction of', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let page: string;
  let url: string;

  beforeAll(async () => {
    server = await PostgresServer.create();
    page = await readFile(PAGE, 'utf8');
  });
  beforeEach(async () => {
    url = await server.createDatabase();
  });
  afterAll(() => server.dispose());

  /** Runs a snippet of the page, with the code `after` right after its event, in the same transaction. */
  async function run(name: string, scope: object, after = ''): Promise<void> {
    const code = readmeSnippet(page, name).replace(/(analytics\.within.*;\n)/, `$1${after}`);
    const names = Object.keys(scope);
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the text is that of our own page
    const snippet = new Function(...names, `return (async () => { ${code} })()`) as (
      ...values: unknown[]
    ) => Promise<void>;
    await snippet(...names.map((key) => Reflect.get(scope, key) as unknown));
  }

  it.each(Object.entries(LIBRARIES))('%s carries the event with the order', async (name, open) => {
    const receiver = await stage.receiver();
    const outbox = { connection: url, migrate: true };
    const app = await stage.app({ connection: url, webhooks: webhooksTo(receiver), outbox });
    const admin = await stage.add(
      connected(url).then((client) => Object.assign(client, { close: () => client.end() })),
    );
    await admin.query('CREATE TABLE orders (id text PRIMARY KEY)');
    const attempt = async (id: string, after?: string): Promise<void> => {
      const { scope, close } = await open(url);
      const around = { ...FUNCTIONS, ...scope, analytics: app.analytics, userId: 'u1', id };
      await run(name, around, after).finally(close);
    };
    await expect(attempt('o1', `throw new Error('the payment failed');`)).rejects.toThrow(
      'the payment failed',
    );
    await attempt('o2');
    await receiver.received(1);
    await app.settled();
    expect(receiver.requests).toHaveLength(1);
    expect((await admin.query('SELECT id FROM orders')).rows).toEqual([{ id: 'o2' }]);
    await admin.query('ALTER TABLE nestjs_analytics.outbox RENAME TO outbox_of_before');
    await expect(attempt('o3')).rejects.toMatchObject({ code: 'OUTBOX_TABLE' });
  });
});

describe('the page about transactions', () => {
  it('shows options that the module accepts', async () => {
    const code = readmeSnippet(await readFile(PAGE, 'utf8'), 'module');
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the text is that of our own page
    const define = new Function('AnalyticsModule', 'process', code) as (...values: unknown[]) => void;
    const env = { DATABASE_URL: 'postgres://127.0.0.1/shop' };
    const forRoot = (options: object): void => {
      expect(resolveOptions(options, {}).outbox).toMatchObject({
        schema: 'nestjs_analytics',
        table: 'outbox',
      });
    };
    define({ forRoot }, { env });
    expect.assertions(1);
  });
});

describe('a transaction of another database', () => {
  it.each([
    ['TypeORM on MySQL', () => fromTypeOrm({ query: never, connection: { options: { type: 'mysql' } } })],
    ['Knex on SQLite', () => fromKnex({ raw: never, client: { config: { client: 'better-sqlite3' } } })],
  ])('is refused: %s', (_, adapt) => {
    expect(adapt).toThrow(expect.objectContaining({ code: 'UNSUPPORTED_OUTBOX_DATABASE' }));
  });

  it('is refused if it is no transaction of the library at all', () => {
    expect(() => fromPrisma({} as never)).toThrow(expect.objectContaining({ code: 'INVALID_EXECUTOR' }));
  });
});

function never(): Promise<never> {
  return Promise.reject(new Error('No statement is run'));
}
