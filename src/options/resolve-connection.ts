import { type ConnectionOptions, isPgPool } from 'bullmq';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';
import type { ResolvedConnection } from './resolved-options.js';

/** Folder of the embedded database, in the working directory. */
const DEFAULT_DATA_DIR = '.analytics';

const EXPECTED =
  'a `redis://`, `rediss://` or `postgres://` URL, ioredis options or client, a pg Pool, or `{ embedded: { dataDir } }`';

/** Whether the embedded database is meant because nothing else was said. */
export function isDefaultConnection(
  connection: unknown,
  hostConnection: ConnectionOptions | undefined,
): boolean {
  return connection === undefined && hostConnection === undefined;
}

/** Reads `connection`: what was given, else the host application's BullMQ connection, else the embedded database. */
export function resolveConnection(
  options: OptionReader,
  hostConnection: ConnectionOptions | undefined,
): ResolvedConnection {
  const connection = options.get('connection');
  if (connection === undefined) {
    return hostConnection === undefined
      ? { kind: 'embedded', dataDir: DEFAULT_DATA_DIR }
      : { kind: 'redis', redis: hostConnection };
  }
  if (typeof connection === 'string') return resolveUrl(connection, options);
  if (isPgPool(connection)) return { kind: 'postgres', postgres: connection };
  if (isEmbedded(connection)) return resolveEmbedded(connection, options);
  if (isRecord(connection)) {
    if (connection.isCluster === true)
      options.report('connection', EXPECTED, 'a Redis Cluster, which is not supported yet');
    return { kind: 'redis', redis: connection };
  }
  options.report('connection', EXPECTED, describe(connection));
  return { kind: 'embedded', dataDir: DEFAULT_DATA_DIR };
}

function resolveUrl(url: string, options: OptionReader): ResolvedConnection {
  if (/^rediss?:\/\//i.test(url)) return { kind: 'redis', redis: url };
  if (/^postgres(ql)?:\/\//i.test(url)) return { kind: 'postgres', postgres: url };
  // The URL may hold a password, so it is not told.
  options.report('connection', EXPECTED, url === '' ? describeType(url) : 'another string');
  return { kind: 'embedded', dataDir: DEFAULT_DATA_DIR };
}

function isEmbedded(connection: unknown): connection is { embedded: unknown } {
  return isRecord(connection) && 'embedded' in connection;
}

function resolveEmbedded({ embedded }: { embedded: unknown }, options: OptionReader): ResolvedConnection {
  if (!isRecord(embedded)) options.report('connection.embedded', '`{ dataDir }`', describe(embedded));
  const reader = new OptionReader(
    isRecord(embedded) ? embedded : {},
    'connection.embedded',
    options.problems,
  );
  reader.onlyKnows(['dataDir']);
  const dataDir = reader.get('dataDir') === undefined ? DEFAULT_DATA_DIR : reader.requiredString('dataDir');
  return { kind: 'embedded', dataDir };
}
