import { describe } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeMissing } from '../support/describe-backend.js';
import { findBinary } from '../support/find-binary.js';
import { readmeSnippet } from '../support/readme-snippet.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** How to run the server for a language in the page about receiving. */
export interface Language {
  name: string;
  program: string;
  args: string[];
  file: string;
  /** Returns a program made from the page, which prints the port of its server. */
  source: (page: string) => string;
}

export const LANGUAGES: Language[] = [
  {
    name: 'Node',
    program: 'node',
    args: [],
    file: 'receiver.mjs',
    source: (page) => `${readmeSnippet(page, 'verify node')}
      server.listen(0, '127.0.0.1', () => console.log(server.address().port));`,
  },
  {
    name: 'Express',
    program: 'node',
    args: [],
    file: 'receiver.mjs',
    source: (page) => `${readmeSnippet(page, 'verify node')}
      ${readmeSnippet(page, 'verify express')}
      const listening = app.listen(0, '127.0.0.1', () => console.log(listening.address().port));`,
  },
  {
    name: 'Fastify',
    program: 'node',
    args: [],
    file: 'receiver.mjs',
    source: (page) => `${readmeSnippet(page, 'verify node')}
      ${readmeSnippet(page, 'verify fastify')}
      await fastify.listen({ port: 0, host: '127.0.0.1' });
      console.log(fastify.server.address().port);`,
  },
  {
    name: 'Python',
    program: 'python3',
    args: [],
    file: 'receiver.py',
    source: (page) => `${readmeSnippet(page, 'verify python').replace('8000', '0')}
print(server.server_port, flush=True)
server.serve_forever()`,
  },
  {
    name: 'Go',
    program: 'go',
    args: ['run'],
    file: 'receiver.go',
    source: (page) =>
      withGoImports(`${readmeSnippet(page, 'verify go')}
func main() {
  listener, _ := net.Listen("tcp", "127.0.0.1:0")
  fmt.Println(listener.Addr().(*net.TCPAddr).Port)
  http.Serve(listener, http.HandlerFunc(receive))
}`),
  },
];

const GO_PACKAGES =
  'crypto/hmac crypto/sha1 crypto/sha256 encoding/base64 encoding/hex fmt io net net/http os strconv strings time';

/** Adds the imports that the code uses, since Go refuses unused imports. */
function withGoImports(code: string): string {
  const used = GO_PACKAGES.split(' ').filter((path) =>
    new RegExp(`\\b${path.replace(/.*\//, '')}\\.`).test(code),
  );
  return `package main\n${used.map((path) => `import "${path}"\n`).join('')}${code}`;
}

/** Runs a suite with the program of a language, or reports it as skipped if the program is not installed. */
export function describeSample(title: string, { program }: Language, define: (binary: string) => void): void {
  const binary = program === 'node' ? process.execPath : findBinary(program);
  if (binary === undefined) describeMissing(title, program);
  else
    describe(title, () => {
      define(binary);
    });
}

/** A server of the page, in a process of its own. */
export class SampleReceiver {
  private readonly sockets: Socket[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  /** @param secret `WEBHOOK_SECRET` of the process, if it has one */
  static async start(
    { binary, args, file }: Pick<Language, 'args' | 'file'> & { binary: string },
    source: string,
    secret: string | undefined,
  ): Promise<SampleReceiver> {
    // From this folder, the program finds the packages that it imports.
    const folder = await mkdtemp(join(ROOT, 'dist', 'receiver-'));
    const path = join(folder, file);
    await writeFile(path, source);
    const child = spawn(binary, [...args, path], {
      env: { ...process.env, WEBHOOK_SECRET: secret },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    return new SampleReceiver(child, folder, `http://127.0.0.1:${port.toString().trim()}`);
  }

  /** Resolves to the status of the answer. */
  async post(headers: Record<string, string>, body: string): Promise<number> {
    return (await fetch(this.url, { method: 'POST', headers, body })).status;
  }

  /** Sends the beginning of a request with these headers, on a connection of its own that stays open. */
  async begin(headers: string): Promise<Socket> {
    const { hostname, port } = new URL(this.url);
    const socket = connect(Number(port), hostname);
    this.sockets.push(socket);
    await once(socket, 'connect');
    socket.resume().write(`POST / HTTP/1.1\r\nHost: receiver\r\n${headers}\r\n\r\n{`);
    return socket;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    // The receiver is a child of `go run`, so the whole process group is killed.
    if (this.child.pid !== undefined) process.kill(-this.child.pid);
    await once(this.child, 'close');
    await rm(this.folder, { recursive: true });
  }
}
