import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { verifySignature, verifyStandardWebhook } from '../../src/index.js';
import { describeMissing } from '../support/describe-backend.js';
import { findBinary } from '../support/find-binary.js';
import { readmeSnippet } from '../support/readme-snippet.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The page about receiving. */
let page: string;

beforeAll(async () => {
  page = await readFile(new URL('../../docs/receiving.md', import.meta.url), 'utf8');
});

describe('a sample signature of the page about receiving', () => {
  const sample = (pattern: RegExp): string => {
    const found = pattern.exec(page)?.[1];
    if (found === undefined) throw new Error(`The page has nothing like ${String(pattern)}`);
    return found;
  };

  it('is the digest of the sample body with the sample secret', () => {
    const body = sample(/^(\{"version":1,.*\})$/m);
    expect(JSON.stringify(JSON.parse(body))).toBe(body);
    expect(page).toMatch(/secret of the sample\s+above is `teehee`/);
    expect(verifySignature(body, sample(/^X-Signature: (\w+)$/m), 'teehee')).toBe(true);
  });

  it('is that of Standard Webhooks for the sample headers and body', () => {
    const body = sample(/^(\{"version":1,.*\})$/m);
    const secret = sample(/`(whsec_[A-Za-z0-9+/=]{20,})`/);
    const headers = {
      'webhook-id': sample(/^webhook-id: (.+)$/m),
      'webhook-timestamp': sample(/^webhook-timestamp: (\d+)$/m),
      'webhook-signature': sample(/^webhook-signature: (.+)$/m),
    };
    expect(JSON.parse(body)).toMatchObject({ messageId: headers['webhook-id'] });
    verifyStandardWebhook(body, headers, secret, { tolerance: Infinity });
    const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
    expect(new Webhook(secret).sign(headers['webhook-id'], at, body)).toBe(headers['webhook-signature']);
  });
});

describe('the README', () => {
  it.each(['node', 'python', 'go'])('verifies as that page does: %s', async (language) => {
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
    const whole = readmeSnippet(page, `verify ${language}`);
    expect(whole).toContain(readmeSnippet(readme, `verify ${language}`));
  });
});

/** How to make a server of a snippet, that prints its port. */
interface Language {
  name: string;
  program: string;
  file: string;
  source: (snippet: string) => string;
  args: string[];
}

const LANGUAGES: Language[] = [
  {
    name: 'Node',
    program: 'node',
    file: 'receiver.mjs',
    source: (snippet) => `${snippet}
      server.listen(0, '127.0.0.1', () => console.log(server.address().port));`,
    args: [],
  },
  {
    name: 'Express',
    program: 'node',
    file: 'receiver.mjs',
    source: (snippet) => `${readmeSnippet(page, 'verify node')}
      ${snippet}
      const listening = app.listen(0, '127.0.0.1', () => console.log(listening.address().port));`,
    args: [],
  },
  {
    name: 'Fastify',
    program: 'node',
    file: 'receiver.mjs',
    source: (snippet) => `${readmeSnippet(page, 'verify node')}
      ${snippet}
      await fastify.listen({ port: 0, host: '127.0.0.1' });
      console.log(fastify.server.address().port);`,
    args: [],
  },
  {
    name: 'Python',
    program: 'python3',
    file: 'receiver.py',
    source: (snippet) => `${snippet}
from http.server import HTTPServer
server = HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()`,
    args: [],
  },
  {
    name: 'Go',
    program: 'go',
    file: 'receiver.go',
    source: (snippet) => `package main
import ("crypto/hmac"; "crypto/sha1"; "encoding/hex"; "fmt"; "io"; "net"; "net/http"; "os")
${snippet}
func main() {
  listener, _ := net.Listen("tcp", "127.0.0.1:0")
  fmt.Println(listener.Addr().(*net.TCPAddr).Port)
  http.Serve(listener, http.HandlerFunc(receive))
}`,
    args: ['run'],
  },
];

for (const language of LANGUAGES) {
  const title = `the receiver that the documentation has for ${language.name}`;
  const binary = language.program === 'node' ? process.execPath : findBinary(language.program);
  if (binary === undefined) describeMissing(title, language.program);
  else describeReceiver(title, language, binary);
}

function describeReceiver(title: string, { name, file, source, args }: Language, binary: string): void {
  describe(title, () => {
    const body = '{"name":"Zoë 🚀"}';
    const ofNoSecret = createHmac('sha1', '').update(body).digest('hex');
    const digest = '0073f327441fe1b05a26cad3f59eab4b7d51c2ea';
    let folder: string;
    let child: ChildProcess;

    afterEach(async () => {
      // Of `go run`, the receiver is a child in turn.
      if (child.pid !== undefined) process.kill(-child.pid);
      await once(child, 'close');
      await rm(folder, { recursive: true });
    });

    async function start(secret: string | undefined): Promise<string> {
      // From there it finds the packages that it imports.
      folder = await mkdtemp(join(ROOT, 'dist', 'receiver-'));
      const path = join(folder, file);
      await writeFile(path, source(readmeSnippet(page, `verify ${name.toLowerCase()}`)));
      const env = { ...process.env, WEBHOOK_SECRET: secret };
      const receiver = spawn(binary, [...args, path], {
        env,
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      child = receiver;
      const [port] = (await once(receiver.stdout, 'data')) as [Buffer];
      return `http://127.0.0.1:${port.toString().trim()}`;
    }

    const post = async (url: string, headers: Record<string, string>, sent = body): Promise<number> =>
      (await fetch(url, { method: 'POST', headers, body: sent })).status;

    it('takes what is signed, and answers 401 to everything else', async () => {
      const url = await start('teehee');
      expect(await post(url, { 'x-signature': digest })).toBe(204);
      expect(await post(url, {})).toBe(401);
      expect(await post(url, {}, '')).toBe(401);
      expect(await post(url, { 'x-signature': '' })).toBe(401);
      expect(await post(url, { 'x-signature': 'ö'.repeat(40) })).toBe(401);
      expect(await post(url, { 'x-signature': digest.slice(2) })).toBe(401);
      expect(await post(url, { 'x-signature': digest }, `${body} `)).toBe(401);
      expect(await post(url, { 'x-signature': ofNoSecret })).toBe(401);
    });

    it('lets nobody in where the secret is empty, with which anybody could sign', async () => {
      const url = await start('');
      expect(await post(url, { 'x-signature': ofNoSecret })).toBeGreaterThanOrEqual(401);
    });

    it('does not refuse messages for good where there is no secret, so that they come again', async () => {
      const url = await start(undefined);
      expect(await post(url, { 'x-signature': digest }).catch(() => 500)).toBe(500);
    });

    it('reads no body to its end that is larger than any of ours', async () => {
      const url = await start('teehee');
      const large = Buffer.alloc(8_388_608, ' ').toString();
      const signed = createHmac('sha1', 'teehee').update(large).digest('hex');
      // Some answer, and some break the connection off.
      expect(await post(url, { 'x-signature': signed }, large).catch(() => 413)).toBeGreaterThanOrEqual(413);
      expect(await post(url, { 'x-signature': digest })).toBe(204);
    });

    it('goes on after a request that breaks off', async () => {
      const url = await start('teehee');
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.end('POST / HTTP/1.1\r\nHost: receiver\r\nContent-Length: 100\r\n\r\n{');
      socket.resume();
      await once(socket, 'close');
      expect(await post(url, { 'x-signature': digest })).toBe(204);
    });
  });
}
