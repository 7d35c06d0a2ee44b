import { afterEach, beforeAll, beforeEach, describe, it } from '@jest/globals';
import { type BackendSource, EMBEDDED, POSTGRES, QUICKEST, REDIS } from './backend-source.js';
import { ifServer, type ServerBackend } from './if-server.js';
import { RedisServer } from './redis-server.js';
import type { TestServer } from './test-server.js';

/** A value of the option `connection`. */
export type TestConnection = string | { embedded: { dataDir: string } };

export interface Backend {
  readonly name: 'embedded' | 'Redis' | 'PostgreSQL';
  /** Empty for each test, and the same throughout it: an application that starts anew in the test finds its data. */
  readonly connection: TestConnection;
  /** The server of the backend, for a test to make it fail; the embedded database has none. */
  readonly server: TestServer | undefined;
}

const SOURCES = [EMBEDDED, REDIS, POSTGRES];
const ALL_BACKENDS = process.env.ALL_BACKENDS === 'true';

/**
 * Runs a suite on each kind of backend, with servers that belong to the test file. If a server is not installed, its
 * suite is skipped. In continuous integration, where every server has to be installed, the suite fails instead.
 */
export function describeBackend(title: string, define: (backend: Backend) => void): void {
  describeEach(SOURCES, title, define);
}

/**
 * Runs a suite that involves the database, on Redis and PostgreSQL. The embedded database gets the same statements as
 * PostgreSQL, and a test takes twice as long there. So the suite runs there only if PostgreSQL is not installed, or
 * with `ALL_BACKENDS=true`.
 */
export function describeServersOrEmbedded(title: string, define: (backend: Backend) => void): void {
  const needsEmbedded = ALL_BACKENDS || POSTGRES.missing !== undefined;
  describeEach(needsEmbedded ? SOURCES : [REDIS, POSTGRES], title, define);
}

/**
 * Runs a suite whose results do not depend on the database, since other suites run the same statements: on Redis, or on
 * the embedded database if Redis is not installed. With `ALL_BACKENDS=true`, it runs on each kind of backend.
 */
export function describeAnyServer(title: string, define: (backend: Backend) => void): void {
  describeEach(ALL_BACKENDS ? SOURCES : [QUICKEST], title, define);
}

/** Runs a suite on each kind of server. A test can make the server fail. */
export function describeServers(title: string, define: (backend: ServerBackend) => void): void {
  describeEach([REDIS, POSTGRES], title, (backend) => {
    ifServer(backend, define);
  });
}

/** Runs a suite that starts a Redis itself; skips or fails it as above. */
export function describeRedis(title: string, define: () => void): void {
  describeWith('redis-server', RedisServer.installed, title, define);
}

/** Runs a suite that needs a program; skips or fails it as above. */
export function describeWith(program: string, isInstalled: boolean, title: string, define: () => void): void {
  if (isInstalled) describe(title, define);
  else describeMissing(title, program);
}

function describeEach(
  sources: readonly BackendSource[],
  title: string,
  define: (backend: Backend) => void,
): void {
  for (const source of sources) {
    if (source.missing === undefined) describeOn(source, title, define);
    else describeMissing(`${title} on ${source.name}`, source.missing);
  }
}

function describeOn(source: BackendSource, title: string, define: (backend: Backend) => void): void {
  describe(`${title} on ${source.name}`, () => {
    let server: TestServer | undefined;
    let connection: TestConnection | undefined;

    beforeAll(async () => {
      ({ server } = await source.open());
    });
    beforeEach(async () => {
      connection = await (await source.open()).newConnection();
    });
    afterEach(async () => {
      server?.resume();
      await server?.start();
    });

    define({
      name: source.name,
      get connection() {
        if (connection === undefined) throw new Error('A backend has a connection only while a test runs');
        return connection;
      },
      get server() {
        return server;
      },
    });
  });
}

/** Reports that a suite is skipped for want of a program. In continuous integration, the suite fails. */
export function describeMissing(title: string, program: string): void {
  if (process.env.CI === 'true') {
    it(title, () => {
      throw new Error(`${program} is not installed, and continuous integration must test with it`);
    });
    return;
  }
  console.warn(`NOT TESTED: ${title}. Install ${program} to run these tests.`);
  it.skip(`${title}: ${program} is not installed`, () => undefined);
}
