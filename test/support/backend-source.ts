import { afterAll } from '@jest/globals';
import type { Backend, TestConnection } from './describe-backend.js';
import { EmbeddedFolders } from './embedded-folder.js';
import { PostgresServer } from './postgres-server.js';
import { REDIS_DATABASES, RedisServer } from './redis-server.js';
import type { TestServer } from './test-server.js';

interface OpenBackend {
  readonly server: TestServer | undefined;
  /** Each call returns the connection of another empty queue. */
  newConnection(): TestConnection | Promise<TestConnection>;
  dispose(): Promise<void>;
}

/** Gives a test file access to one kind of backend. */
export class BackendSource {
  private opened: Promise<OpenBackend> | undefined;

  constructor(
    readonly name: Backend['name'],
    /** The program that the backend needs, if that is not installed. */
    readonly missing: string | undefined,
    private readonly start: () => Promise<OpenBackend>,
  ) {}

  /** Shared by all suites of a test file, since starting a server takes half a second of CPU time. */
  open(): Promise<OpenBackend> {
    this.opened ??= this.start();
    return this.opened;
  }

  async dispose(): Promise<void> {
    await (await this.opened)?.dispose();
  }
}

export const EMBEDDED = new BackendSource('embedded', undefined, () => {
  const folders = new EmbeddedFolders();
  return Promise.resolve({
    server: undefined,
    newConnection: async () => ({ embedded: { dataDir: await folders.copiedDataDir() } }),
    dispose: () => folders.dispose(),
  });
});

export const REDIS = new BackendSource(
  'Redis',
  RedisServer.installed ? undefined : 'redis-server',
  async () => {
    // Without an append-only file, the module warns that messages may be lost.
    const server = await RedisServer.create({ appendOnly: true });
    let database = 0;
    return {
      server,
      newConnection: () => server.url(database++ % REDIS_DATABASES),
      dispose: () => server.dispose(),
    };
  },
);

export const POSTGRES = new BackendSource(
  'PostgreSQL',
  PostgresServer.installed ? undefined : 'postgres',
  async () => {
    const server = await PostgresServer.create();
    return {
      server,
      newConnection: () => server.createDatabase(),
      dispose: () => server.dispose(),
    };
  },
);

/** For tests to which the backend does not matter: a test on Redis takes the least time. */
export const QUICKEST = REDIS.missing === undefined ? REDIS : EMBEDDED;

const SOURCES = [EMBEDDED, REDIS, POSTGRES];

afterAll(async () => {
  await Promise.all(SOURCES.map((source) => source.dispose()));
});
