import { createServer } from 'node:net';
import { once } from 'node:events';
import { Program } from './command.mjs';

async function freePort() {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** A Redis for the hosts that need one. */
export class RedisServer {
  constructor(program, url) {
    this.program = program;
    this.url = url;
  }

  static async start(folder) {
    const port = await freePort();
    const argv = [
      'redis-server',
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--appendonly',
      'yes',
      '--dir',
      folder,
    ];
    const program = new Program(argv, { cwd: folder });
    await program.printed(/Ready to accept connections/, 30_000);
    return new RedisServer(program, `redis://127.0.0.1:${port}`);
  }

  async stop() {
    await this.program.end('SIGTERM', 30_000);
  }
}
