import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { transformFileSync } from '@swc/core';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { WebhookClient } from '../../../src/webhooks/http/webhook-client.js';
import { webhookErrorCode } from '../../../src/webhooks/http/webhook-error-code.js';
import { postWebhook } from '../../support/post-webhook.js';
import { createCertificates, type Certificates } from '../../support/certificates.js';
import { Receiver, type ReceiverOptions } from '../../support/receiver.js';

const BAD = [
  ['selfSigned', 'TLS_SELF_SIGNED'],
  ['unknownIssuer', 'TLS_UNKNOWN_ISSUER'],
  ['expired', 'TLS_EXPIRED'],
  ['wrongHost', 'TLS_WRONG_HOST'],
] as const;

/** A program that posts to the URL in its argument and prints what came of it. */
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

describe('over TLS', () => {
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

  async function post(url: string): Promise<number | string> {
    const client = new WebhookClient({ connections: 1, allowPrivateNetwork: true, ca: certificates.ca });
    closing.push(() => client.close());
    const response = await postWebhook(client, url);
    if (response === undefined) return 'aborted';
    return response.error === undefined ? response.status : webhookErrorCode(response.error);
  }

  it('delivers to a receiver whose certificate is trusted, by address and by name', async () => {
    const receiver = await receive(certificates.good);
    expect(await post(receiver.url())).toBe(200);
    expect(await post(`https://localhost:${receiver.port}/`)).toBe(200);
  });

  it.each(BAD)('sends nothing to a receiver whose certificate is %s: %s', async (name, code) => {
    const receiver = await receive(certificates[name]);
    expect(await post(receiver.url())).toBe(code);
    expect(receiver.requests).toEqual([]);
  });

  it.each(['localhost', 'localhost.'])(
    'asks %s for the name without a full stop, and for HTTP/1.1',
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

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'resumes the session of a socket that was closed (%s)',
    async (version) => {
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
    },
  );

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

/** Compiles what the program imports: the environment is read by Node itself, so a process of its own is needed. */
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
