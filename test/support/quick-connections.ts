import { afterAll } from '@jest/globals';
import { type TestConnection } from './describe-backend.js';
import { EmbeddedFolders } from './embedded-folder.js';
import { REDIS_DATABASES, RedisServer } from './redis-server.js';

/**
 * For a test file to which the backend does not matter: each call gives the connection of an empty queue. It is on a
 * Redis of the file's own, which costs a test milliseconds; where none is installed, it is embedded.
 */
export function quickConnections(): () => Promise<TestConnection> {
  let server: Promise<RedisServer> | undefined;
  let folders: EmbeddedFolders | undefined;
  let database = 0;
  afterAll(async () => {
    await (await server)?.dispose();
    await folders?.dispose();
  });
  return async () => {
    if (RedisServer.installed) {
      // Without the file, the module warns that messages may be lost.
      server ??= RedisServer.create({ appendOnly: true });
      return (await server).url(database++ % REDIS_DATABASES);
    }
    folders ??= new EmbeddedFolders();
    return { embedded: { dataDir: await folders.copiedDataDir() } };
  };
}
