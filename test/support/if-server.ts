import type { Backend } from './describe-backend.js';
import type { TestServer } from './test-server.js';

/** A backend with a server that can be away. */
export interface ServerBackend {
  readonly name: 'Redis' | 'PostgreSQL';
  readonly connection: string;
  readonly server: TestServer;
}

/** Defines tests for which a server has to fail: the embedded database has none. */
export function ifServer(backend: Backend, define: (backend: ServerBackend) => void): void {
  const { name } = backend;
  if (name === 'embedded') return;
  define({
    name,
    get connection() {
      if (typeof backend.connection !== 'string') throw new Error('A server is reached by a URL');
      return backend.connection;
    },
    get server() {
      if (backend.server === undefined) throw new Error('A server runs only while a test runs');
      return backend.server;
    },
  });
}
