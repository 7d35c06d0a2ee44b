import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { drizzle } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
import knexOf from 'knex';
import pg from 'pg';
import { Track } from '../../../src/index.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { prismaOf } from '../../support/prisma-client.js';
import { DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

const orders = pgTable('orders', { id: text('id').primaryKey() });

/** Creates an order with a query of a library. */
type Create = (id: string) => PromiseLike<unknown>;

@Injectable()
class Orders {
  create: Create = () => Promise.reject(new Error('no library'));

  @Track('Order Created', { userId: 'u1', properties: ({ result }) => ({ result }) })
  @Track('Order Refused', { userId: 'u1', on: 'failure' })
  add(id: string): PromiseLike<unknown> {
    return this.create(id);
  }
}

describeWith('postgres', PostgresServer.installed, 'a decorated method that returns a query of', () => {
  let server: PostgresServer;
  let url: string;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await PostgresServer.create();
    url = await server.createDatabase();
    pool = new pg.Pool({ connectionString: url });
    await pool.query('CREATE TABLE orders (id text PRIMARY KEY)');
  });
  afterAll(async () => {
    await pool.end();
    await server.dispose();
  });

  const libraries: Record<string, () => { create: Create; close: () => Promise<unknown> }> = {
    Prisma: () => {
      const prisma = prismaOf(url);
      return { create: (id) => prisma.order.create({ data: { id } }), close: () => prisma.$disconnect() };
    },
    Drizzle: () => {
      const db = drizzle(pool);
      return {
        create: (id) => db.insert(orders).values({ id }).returning(),
        close: () => Promise.resolve(),
      };
    },
    Knex: () => {
      const knex = knexOf({ client: 'pg', connection: url });
      return { create: (id) => knex('orders').insert({ id }).returning('*'), close: () => knex.destroy() };
    },
  };

  it.each(Object.entries(libraries))(
    '%s is recorded with the result of the query, or with its failure',
    async (name, open) => {
      const app = await apps.start({ providers: [Orders] });
      const { create, close } = open();
      const service = Object.assign(app.get(Orders), { create });
      const stored = async (): Promise<number> =>
        (await pool.query('SELECT FROM orders WHERE id = $1', [name])).rowCount ?? 0;
      try {
        const query = service.add(name);
        expect([await stored(), app.messages]).toEqual([0, []]);
        const result = await query;
        await expect(service.add(name)).rejects.toHaveProperty('message');
        expect(result).toEqual(name === 'Prisma' ? { id: name } : [{ id: name }]);
        expect([await stored(), app.messages]).toMatchObject([
          1,
          [{ event: 'Order Created', properties: { result } }, { event: 'Order Refused' }],
        ]);
      } finally {
        await close();
      }
    },
  );
});
