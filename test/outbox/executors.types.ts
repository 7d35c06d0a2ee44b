/** Proves by compiling that the transactions of the real libraries fit the functions. Nothing here is run. */
import type { PGlite } from '@electric-sql/pglite';
import type { EntityManager as MikroOrmManager } from '@mikro-orm/postgresql';
import type { ITXClientDenyList } from '@prisma/client/runtime/client';
import { sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { Knex } from 'knex';
import type { Transaction } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { EntityManager, QueryRunner } from 'typeorm';
import {
  type AnalyticsModuleOptions,
  type AnalyticsService,
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromPrisma,
  fromTypeOrm,
} from '../../src/index.js';
import type { PrismaClient } from '../support/prisma-client.js';

export interface Transactions {
  pg: PoolClient;
  typeOrm: EntityManager;
  runner: QueryRunner;
  drizzle: Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0];
  kysely: Transaction<{ orders: { id: string } }>;
  knex: Knex.Transaction;
  mikroOrm: MikroOrmManager;
  prisma: Omit<PrismaClient, ITXClientDenyList>;
  pglite: PGlite;
}

export async function track(analytics: AnalyticsService, tx: Transactions): Promise<void> {
  const call = { userId: 'u1', event: 'E' };
  await analytics.within(tx.pg).track(call);
  await analytics.within(tx.pglite).track(call);
  await analytics.within(fromTypeOrm(tx.typeOrm)).track(call);
  await analytics.within(fromTypeOrm(tx.runner)).track(call);
  await analytics.within(fromDrizzle(tx.drizzle, sql)).track(call);
  await analytics.within(fromKysely(tx.kysely)).track(call);
  await analytics.within(fromKnex(tx.knex)).track(call);
  await analytics.within(fromMikroOrm(tx.mikroOrm)).track(call);
  await analytics.within(fromPrisma(tx.prisma)).track(call);
  // @ts-expect-error Knex has no `query`, and has to be wrapped
  await analytics.within(tx.knex).track(call);
}

export function connections(pool: Pool, pglite: PGlite): AnalyticsModuleOptions['outbox'][] {
  return [{ connection: 'postgres://127.0.0.1/shop' }, { connection: pool }, { connection: pglite }];
}
