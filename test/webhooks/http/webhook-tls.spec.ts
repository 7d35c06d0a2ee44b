import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { transformFileSync } from '@swc/core';
import { execFile } from 'node:child_process';
import { constants } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { WebhookClient } from '../../../src/webhooks/http/webhook-client.js';
import { webhookErrorCode } from '../../../src/webhooks/http/webhook-error-code.js';
import { postWebhook } from '../../support/post-webhook.js';
import { createCertificates, type Certificates, type KeyPair } from '../../support/certificates.js';
import { Receiver, type ReceiverOptions } from '../../support/receiver.js';
import { until } from '../../support/until.js';

const BAD = [
  ['selfSigned', 'TLS_SELF_SIGNED'],
  ['unknownIssuer', 'TLS_UNKNOWN_ISSUER'],
  ['expired', 'TLS_EXPIRED'],
  ['wrongHost', 'TLS_WRONG_HOST'],
] as const;

/** A program that posts to the URL in its argument and prints the result. */
const PROGRAM = `
import { WebhookClient } from './webhooks/http/webhook-client.js';
const client = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
const [, , url] = process.argv;
const { origin, pathname: path } = new URL(url);
const { signal } = new AbortController();
const request = { target: { origin, path }, headers: [], body: Buffer.from('{}'), timeout: 5000, signal };
const response = await new Promise((settle) => client.post(request, settle));
console.log(response.error?.code ?? response.status);
await client.close();
`;

/** Starts a receiver in a thread of its own, which reports each connection and each request. */
async function receiveInWorker(tls: KeyPair): Promise<{ port: number; worker: Worker }> {
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    const server = require('node:https').createServer(workerData, (request, response) => {
      parentPort.postMessage('request');
      response.end();
    });
    server.on('connection', () => parentPort.postMessage('connection'));
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;
  const worker = new Worker(program, { eval: true, workerData: tls });
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  return { port, worker };
}

describe('a webhook client over TLS', () => {
  let certificates: Certificates;
  let folder: string;
  const closing: (() => Promise<void>)[] = [];

  beforeAll(() => {
    certificates = createCertificates();
    folder = compile();
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  afterEach(async () => {
    await Promise.all(closing.splice(0).map((close) => close()));
  });

  async function receive(tls: ReceiverOptions['tls']): Promise<Receiver> {
    const receiver = await Receiver.start({ tls: { ...tls } });
    closing.push(() => receiver.close());
    return receiver;
  }

  async function post(url: string, timeout = 5_000): Promise<number | string> {
    const client = new WebhookClient({ connections: 1, allowPrivateNetwork: true, ca: certificates.ca });
    closing.push(() => client.close());
    const response = await postWebhook(client, url, { timeout });
    if (response === undefined) return 'aborted';
    return response.error === undefined ? response.status : webhookErrorCode(response.error);
  }

  it('delivers to a receiver whose certificate is trusted, by address and by name', async () => {
    const receiver = await receive(certificates.good);
    expect(await post(receiver.url())).toBe(200);
    expect(await post(`https://localhost:${receiver.port}/`)).toBe(200);
  });

  it('does not mistake a stall of the process during the handshake for a slow receiver, and sends the request once', async () => {
    const { port, worker } = await receiveInWorker(certificates.good);
    closing.push(async () => {
      await worker.terminate();
    });
    let requests = 0;
    worker.on('message', (what) => (requests += what === 'request' ? 1 : 0));
    const posted = post(`https://127.0.0.1:${port}/`, 3_000);
    await once(worker, 'message');
    const end = performance.now() + 3_500;
    while (performance.now() < end);
    expect(await posted).toBe(200);
    // The receiver reports requests on another channel than its answer.
    await until(() => requests > 0 || undefined);
    expect(requests).toBe(1);
  });

  it.each(BAD)('sends nothing to a receiver whose certificate is %s: %s', async (name, code) => {
    const receiver = await receive(certificates[name]);
    expect(await post(receiver.url())).toBe(code);
    expect(receiver.requests).toEqual([]);
  });

  it.each(['localhost', 'localhost.'])(
    'asks %s for the name without a trailing dot, and for HTTP/1.1',
    async (host) => {
      const names: string[] = [];
      const receiver = await receive({
        ...certificates.good,
        ALPNCallback: ({ servername, protocols }) => {
          names.push(servername, ...protocols);
          return protocols[0];
        },
      });
      expect(await post(`https://${host}:${receiver.port}/`)).toBe(200);
      expect(names).toEqual(['localhost', 'http/1.1']);
    },
  );

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('resumes the session of a closed socket (%s)', async (version) => {
    const resumed: boolean[] = [];
    const receiver = await Receiver.start({
      tls: { ...certificates.good, minVersion: version, maxVersion: version },
      answer: () => (response, socket) => {
        resumed.push(socket instanceof TLSSocket && socket.isSessionReused());
        response.writeHead(200, { connection: 'close' }).end();
      },
    });
    closing.push(() => receiver.close());
    const client = new WebhookClient({ connections: 1, allowPrivateNetwork: true, ca: certificates.ca });
    closing.push(() => client.close());
    for (let n = 0; n < 4; n++) await postWebhook(client, receiver.url());
    expect(receiver.connections).toBe(4);
    expect(resumed).toEqual([false, true, true, true]);
  });

  it('connects without a session to a receiver that breaks off handshakes which offer one', async () => {
    const server = createServer(
      { ...certificates.good, maxVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET },
      (_request, response) => response.writeHead(200, { connection: 'close' }).end(),
    );
    const known = new Set<string>();
    let offers = 0;
    server.on('newSession', (id: Buffer, _data: Buffer, done: () => void) => {
      known.add(id.toString('hex'));
      done();
    });
    // A handshake that offers no session has a made-up session id: RFC 8446, appendix D.4.
    server.on('resumeSession', (id: Buffer, done: (error: Error | null, data: null) => void) => {
      const isOffered = known.has(id.toString('hex'));
      if (isOffered) offers++;
      done(isOffered ? new Error('The sessions cannot be read') : null, null);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    closing.push(async () => {
      await once(server.close(), 'close');
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('The receiver is not listening.');
    const client = new WebhookClient({ connections: 1, allowPrivateNetwork: true, ca: certificates.ca });
    closing.push(() => client.close());
    const results: unknown[] = [];
    for (let n = 0; n < 3; n++) {
      const response = await postWebhook(client, `https://127.0.0.1:${address.port}/`);
      results.push(response?.error ?? response?.status);
    }
    expect(results).toEqual([200, 200, 200]);
    expect(offers).toBe(2);
  });

  it('reports a receiver without a common TLS version, or without TLS, as TLS_FAILED', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const outdated = await receive({ ...certificates.good, ...old });
    expect(await post(outdated.url())).toBe('TLS_FAILED');
    expect(outdated.requests).toEqual([]);
    const plain = await Receiver.start();
    closing.push(() => plain.close());
    expect(await post(plain.url().replace('http:', 'https:'))).toBe('TLS_FAILED');
  });

  it.each([
    ['NODE_TLS_REJECT_UNAUTHORIZED', '0', 'selfSigned', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['HTTPS_PROXY', 'http://127.0.0.1:9', 'selfSigned', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ] as const)('is not weakened or diverted by %s=%s in the environment', async (name, value, pair, code) => {
    const receiver = await receive(certificates[pair]);
    expect(await run(folder, receiver.url(), { [name]: value })).toBe(code);
    expect(receiver.requests).toEqual([]);
  });

  it('is not lowered to an old TLS version by NODE_OPTIONS', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const receiver = await receive({ ...certificates.good, ...old });
    const options = '--tls-min-v1.0 --tls-cipher-list=DEFAULT@SECLEVEL=0';
    expect(await run(folder, receiver.url(), { NODE_OPTIONS: options })).toMatch(/PROTOCOL/);
  });
});

async function run(folder: string, url: string, env: Record<string, string>): Promise<string> {
  const program = join(folder, 'program.js');
  const { stdout } = await promisify(execFile)(process.execPath, [program, url], { env });
  return stdout.trim();
}

/**
 * Compiles the modules that the program imports. Node itself reads the environment, so a process of its own is needed.
 */
function compile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'webhook-client-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'program.js'), PROGRAM);
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  for (const file of readdirSync('src', { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.d.ts')) continue;
    const { code } = transformFileSync(join('src', file), { swcrc: true });
    const compiled = join(folder, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(compiled), { recursive: true });
    writeFileSync(compiled, code);
  }
  return folder;
}
