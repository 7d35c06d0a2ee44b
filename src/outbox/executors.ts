import type { OutboxExecutor } from '../client/message-store.js';
import { InvalidExecutorError, UnsupportedOutboxDatabaseError } from '../errors/outbox.errors.js';

// Types are described by their shape, so that this package needs none of these libraries.

/** The part of TypeORM's `EntityManager` or `QueryRunner` that is used. */
export interface TypeOrmTransaction {
  query(text: string, values?: unknown[]): Promise<unknown>;
  readonly connection?: { readonly options: { readonly type: string } };
}

/** The part of Prisma's client that is used in an interactive transaction. */
export interface PrismaTransaction {
  $executeRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

/** The part of Drizzle's transaction on PostgreSQL that is used. */
export interface DrizzleTransaction<Q> {
  execute(query: Q): PromiseLike<unknown>;
}

/** The tag `sql` of `drizzle-orm`. */
export type DrizzleSql<Q> = (strings: TemplateStringsArray, ...values: unknown[]) => Q;

/** The part of Kysely's `Transaction` that is used. */
export interface KyselyTransaction {
  executeQuery(query: KyselyQuery): Promise<unknown>;
}

/** A compiled query of Kysely. */
export interface KyselyQuery {
  readonly query: {
    readonly kind: 'RawNode';
    readonly sqlFragments: readonly string[];
    readonly parameters: readonly never[];
  };
  readonly queryId: { readonly queryId: string };
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** The part of Knex's `Transaction` that is used. */
export interface KnexTransaction {
  raw(text: string, bindings: readonly string[]): PromiseLike<unknown>;
  readonly client?: { readonly config?: { readonly client?: unknown } };
}

/** The part of MikroORM's SQL `EntityManager` that is used. */
export interface MikroOrmTransaction {
  execute(text: string, values: unknown[]): Promise<unknown>;
}

/** Wraps the TypeORM `EntityManager` that `dataSource.transaction` passes, or a `QueryRunner`. */
export function fromTypeOrm(manager: TypeOrmTransaction): OutboxExecutor {
  assertHas(manager, 'query', 'fromTypeOrm');
  const { type } = manager.connection?.options ?? { type: 'postgres' };
  assertPostgres(type, /postgres|cockroach/);
  return { query: (text, values) => manager.query(text, values) };
}

/** Wraps the Prisma client that `prisma.$transaction(async (tx) => …)` passes. */
export function fromPrisma(transaction: PrismaTransaction): OutboxExecutor {
  assertHas(transaction, '$executeRawUnsafe', 'fromPrisma');
  return { query: async (text, values) => transaction.$executeRawUnsafe(text, ...values) };
}

/** Wraps the Drizzle transaction that `db.transaction` passes. Needs the tag `sql` of `drizzle-orm`. */
export function fromDrizzle<Q>(transaction: DrizzleTransaction<Q>, sql: DrizzleSql<Q>): OutboxExecutor {
  assertHas(transaction, 'execute', 'fromDrizzle');
  return { query: async (text, values) => transaction.execute(sql(templateOf(text), ...values)) };
}

/** Wraps the Kysely transaction that `db.transaction().execute` passes. */
export function fromKysely(transaction: KyselyTransaction): OutboxExecutor {
  assertHas(transaction, 'executeQuery', 'fromKysely');
  return {
    query: (sql, parameters) =>
      transaction.executeQuery({
        query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
        queryId: { queryId: 'nestjs-analytics' },
        sql,
        parameters,
      }),
  };
}

/** Wraps the Knex transaction that `knex.transaction` passes. */
export function fromKnex(transaction: KnexTransaction): OutboxExecutor {
  assertHas(transaction, 'raw', 'fromKnex');
  const client = transaction.client?.config?.client;
  assertPostgres(typeof client === 'string' ? client : 'pg', /pg|postgres|cockroach|redshift/);
  return { query: async (text, values) => transaction.raw(templateOf(text).join('?'), values) };
}

/** Wraps the `EntityManager` that `em.transactional` of a MikroORM SQL driver passes. */
export function fromMikroOrm(manager: MikroOrmTransaction): OutboxExecutor {
  assertHas(manager, 'execute', 'fromMikroOrm');
  return { query: (text, values) => manager.execute(templateOf(text).join('?'), values) };
}

/** Returns the text between `$1`, `$2` …, which the statements of the outbox have in this order. */
function templateOf(text: string): TemplateStringsArray {
  const strings = text.split(/\$\d+/);
  return Object.assign(strings, { raw: strings });
}

/** Untyped code may pass anything. */
function assertHas(transaction: unknown, method: string, adapter: string): void {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) {
    throw new InvalidExecutorError(adapter);
  }
  if (typeof Reflect.get(transaction, method) !== 'function') throw new InvalidExecutorError(adapter);
}

function assertPostgres(dialect: string, isPostgres: RegExp): void {
  if (!isPostgres.test(dialect)) {
    throw new UnsupportedOutboxDatabaseError(`the transaction belongs to ${JSON.stringify(dialect)}`);
  }
}
