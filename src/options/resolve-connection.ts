import { type ConnectionOptions, isPgPool } from 'bullmq';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';
import type { ClusterNode } from './analytics-options.interface.js';
import type { ResolvedConnection } from './resolved-options.js';
import {
  isPostgresUrl,
  isReadablePostgresUrl,
  isReadableUrl,
  UNREADABLE_POSTGRES_URL,
} from './server-url.js';

/** Folder of the embedded database, in the working directory. */
const DEFAULT_DATA_DIR = '.analytics';
/** Default in tests: test files run in parallel, and a folder serves only one process. Keeps nothing. */
const DEFAULT_TEST_DATA_DIR = 'memory://';

/** The largest number of partitions. */
export const MAX_PARTITIONS = 32;
/** Default on a cluster: enough for a few master nodes to get about the same number of partitions each. */
const CLUSTER_PARTITIONS = 8;

type EmbeddedOptions = Record<'embedded', unknown>;
type EmbeddedConnection = Extract<ResolvedConnection, { kind: 'embedded' }>;

const EXPECTED =
  'a `redis://`, `rediss://` or `postgres://` URL, ioredis options or client, `{ cluster: [{ host, port }] }`, a pg Pool, or `{ embedded: { dataDir } }`';

const UNREADABLE_REDIS_URL =
  'a `redis://` URL that has no host, or no number as its path: encode its user and password with `encodeURIComponent`';

/**
 * Options that locate a Redis server. Without any of them, `ioredis` would silently connect to this machine.
 */
const REDIS_PLACES = ['url', 'host', 'port', 'path', 'sentinels'];

/** Options of a single server. `ioredis` would silently ignore them beside `cluster`, and so send without TLS. */
const SERVER_OPTIONS = [...REDIS_PLACES, 'username', 'password', 'tls'];

/** Whether to use the embedded database, because nothing else is configured. */
export function isDefaultConnection(
  connection: unknown,
  hostConnection: ConnectionOptions | undefined,
): boolean {
  return connection === undefined && hostConnection === undefined;
}

/**
 * Reads `connection`. Falls back to the host application's BullMQ connection, then to the embedded database.
 */
export function resolveConnection(
  options: OptionReader,
  hostConnection: ConnectionOptions | undefined,
): ResolvedConnection {
  const given = options.get('connection');
  // An unset configuration value may be `null`, which is refused: a fallback to another queue would go unnoticed.
  const connection = given === undefined ? hostConnection : given;
  if (connection === undefined) return defaultConnection();
  if (typeof connection === 'string') return resolveUrl(connection, options);
  if (isPgPool(connection)) return { kind: 'postgres', postgres: connection };
  if (isEmbedded(connection)) return resolveEmbedded(connection, options);
  if (isRecord(connection)) return resolveRedis(connection, options);
  return refuse(describe(connection), options);
}

/** Reads `partitions`. The default is 1, or more on a cluster, where partitions spread the queue over the nodes. */
export function resolvePartitions(options: OptionReader, { kind }: ResolvedConnection): number {
  const fallback = kind === 'cluster' ? CLUSTER_PARTITIONS : 1;
  const partitions = options.number('partitions', fallback, { min: 1, max: MAX_PARTITIONS });
  if (partitions === 1 || kind === 'redis' || kind === 'cluster') return partitions;
  options.report('partitions', '1, unless the queue is on Redis', String(partitions));
  return 1;
}

function resolveRedis(redis: Record<string, unknown>, options: OptionReader): ResolvedConnection {
  // Clients of other drivers do not have `ioredis` options.
  const isClient = typeof redis.duplicate === 'function';
  if (isClient && !isRecord(redis.options))
    return refuse('a client of a library other than `ioredis`', options);
  refuseKeyPrefix(isClient ? asRecord(redis.options) : redis, options);
  if (redis.isCluster === true)
    return resolveCluster({ ...asRecord(redis.options), cluster: redis.startupNodes }, options);
  if (isClient) return { kind: 'redis', redis };
  if ('cluster' in redis) {
    reportServerOptions(redis, options);
    return resolveCluster(redis, options);
  }
  if (!REDIS_PLACES.some((place) => redis[place] !== undefined))
    return refuse('an object with none of `host`, `port`, `path`, `sentinels` and `url`', options);
  if (typeof redis.url !== 'string') return { kind: 'redis', redis };
  if (isRedisUrl(redis.url)) return { kind: 'redis', redis };
  return refuse('an object whose `url` is not a `redis://` URL', options);
}

/** Refuses `keyPrefix` at start. BullMQ would refuse it only on connecting, without naming this module's `prefix`. */
function refuseKeyPrefix(redis: Record<string, unknown>, options: OptionReader): void {
  const keyPrefix = [redis, asRecord(redis.redisOptions)].map((one) => one.keyPrefix).find(Boolean);
  if (keyPrefix === undefined) return;
  const expected = 'no value, since BullMQ does not support it: use the option `prefix` of this module';
  options.report('connection.keyPrefix', expected, describe(keyPrefix));
}

function reportServerOptions(cluster: Record<string, unknown>, options: OptionReader): void {
  const expected = 'no value beside `cluster`: nodes say where they are, and `redisOptions` how to connect';
  for (const name of SERVER_OPTIONS.filter((one) => Boolean(cluster[one])))
    options.report(`connection.${name}`, expected, describeType(cluster[name]));
}

function resolveCluster(
  { cluster: nodes, ...others }: Record<string, unknown>,
  options: OptionReader,
): ResolvedConnection {
  if (Array.isArray(nodes) && nodes.length > 0 && nodes.every(isNode))
    return { kind: 'cluster', nodes, options: others };
  options.report('connection.cluster', 'a list of nodes, `[{ host, port }]`', describeType(nodes));
  return defaultConnection();
}

function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function isNode(node: unknown): node is ClusterNode {
  if (isRecord(node)) return typeof node.host === 'string' || typeof node.port === 'number';
  return typeof node === 'number' || (typeof node === 'string' && isNodeUrl(node));
}

function isNodeUrl(node: string): boolean {
  return isRedisUrl(node) || /^[^/?@]+:\d+$/.test(node);
}

function resolveUrl(url: string, options: OptionReader): ResolvedConnection {
  if (isRedisUrl(url)) return { kind: 'redis', redis: url };
  // The URL may hold a password, so it is not shown.
  if (isPostgresUrl(url))
    return isReadablePostgresUrl(url)
      ? { kind: 'postgres', postgres: url }
      : refuse(UNREADABLE_POSTGRES_URL, options);
  if (/^rediss?:/i.test(url)) return refuse(UNREADABLE_REDIS_URL, options);
  return refuse(url === '' ? describeType(url) : 'another string', options);
}

/** Whether a text is a valid Redis URL. `ioredis` would read a path that is not a number as database 0. */
function isRedisUrl(url: string): boolean {
  return /^rediss?:\/\/[^/?]+(\/\d*)?(\?.*)?$/i.test(url) && isReadableUrl(url);
}

function refuse(got: string, options: OptionReader): ResolvedConnection {
  options.report('connection', EXPECTED, got);
  return defaultConnection();
}

function isEmbedded(connection: unknown): connection is EmbeddedOptions {
  return isRecord(connection) && 'embedded' in connection;
}

function resolveEmbedded(connection: EmbeddedOptions, options: OptionReader): ResolvedConnection {
  const { embedded } = connection;
  new OptionReader(connection, 'connection', options.problems).onlyKnows(['embedded']);
  if (!isRecord(embedded))
    options.report('connection.embedded', '`{ dataDir, durability }`', describeType(embedded));
  const reader = new OptionReader(
    isRecord(embedded) ? embedded : {},
    'connection.embedded',
    options.problems,
  );
  reader.onlyKnows(['dataDir', 'durability']);
  return {
    ...defaultConnection(),
    ...(reader.get('dataDir') !== undefined && { dataDir: reader.requiredString('dataDir') }),
    ...(isProcessDurability(reader) && { durability: 'process' }),
  };
}

function isProcessDurability(reader: OptionReader): boolean {
  const durability = reader.get('durability');
  if (durability !== undefined && durability !== 'disk' && durability !== 'process')
    reader.report('durability', "`'disk'` or `'process'`", describe(durability));
  return durability === 'process';
}

function defaultConnection(): EmbeddedConnection {
  const dataDir = process.env.NODE_ENV === 'test' ? DEFAULT_TEST_DATA_DIR : DEFAULT_DATA_DIR;
  return { kind: 'embedded', dataDir, durability: 'disk' };
}
