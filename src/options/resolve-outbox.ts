import { isPgPool } from 'bullmq';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';
import type { OutboxDatabase, OutboxOptions } from './outbox-options.interface.js';
import type { ResolvedOutbox } from './resolved-options.js';
import { isPostgresUrl, isReadablePostgresUrl, UNREADABLE_POSTGRES_URL } from './server-url.js';

export const DEFAULT_OUTBOX_SCHEMA = 'nestjs_analytics';
export const DEFAULT_OUTBOX_TABLE = 'outbox';

const KNOWN: readonly string[] = [
  'connection',
  'schema',
  'table',
  'migrate',
] satisfies (keyof OutboxOptions)[];

const EXPECTED = 'a `postgres://` URL, a pg Pool, or a PGlite: an outbox needs PostgreSQL';

/** PostgreSQL truncates names above 63 characters. The name of the index is four longer than that of its table. */
const NAME = /^[a-z_][a-z0-9_]{0,58}$/i;

/** The rule of `NAME` in words. */
export const OUTBOX_NAME =
  'a name of at most 59 letters, digits and underscores that does not begin with a digit';

/** Reads `outbox`; `undefined` if the application has none. */
export function resolveOutbox(options: OptionReader): ResolvedOutbox | undefined {
  const given = options.get('outbox');
  if (given === undefined) return undefined;
  if (!isRecord(given)) {
    options.report('outbox', '`{ connection, schema, table, migrate }`', describeType(given));
    return undefined;
  }
  const outbox = new OptionReader(given, 'outbox', options.problems);
  outbox.onlyKnows(KNOWN);
  const connection = resolveConnection(outbox);
  const schema = resolveName(outbox, 'schema', DEFAULT_OUTBOX_SCHEMA);
  const table = resolveName(outbox, 'table', DEFAULT_OUTBOX_TABLE);
  const migrate = outbox.boolean('migrate', false);
  return connection === undefined ? undefined : { connection, schema, table, migrate };
}

/** Whether the name of a schema or table needs no escaping. */
export function isOutboxName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name);
}

function resolveConnection(options: OptionReader): ResolvedOutbox['connection'] | undefined {
  const connection = options.get('connection');
  if (typeof connection === 'string' && isPostgresUrl(connection)) {
    if (isReadablePostgresUrl(connection)) return connection;
    options.report('connection', EXPECTED, UNREADABLE_POSTGRES_URL);
    return undefined;
  }
  if (isPgPool(connection) || isDatabase(connection)) return connection;
  // A URL may hold a password, so it is not shown.
  const scheme = typeof connection === 'string' ? /^(\w+):/.exec(connection)?.[1] : undefined;
  const got = scheme === undefined ? describeType(connection) : `a \`${scheme}:\` URL`;
  options.report('connection', EXPECTED, connection === undefined ? 'undefined' : got);
  return undefined;
}

function resolveName(options: OptionReader, option: 'schema' | 'table', fallback: string): string {
  const name = options.get(option) ?? fallback;
  if (isOutboxName(name)) return name;
  options.report(option, OUTBOX_NAME, describe(name));
  return fallback;
}

function isDatabase(value: unknown): value is OutboxDatabase {
  return typeof value === 'object' && value !== null && 'query' in value && typeof value.query === 'function';
}
