import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { TlsSessions } from '../../../src/webhooks/http/tls-sessions.js';
import { createCertificates } from '../../support/certificates.js';
import { freePort } from '../../support/free-port.js';

const TEN_MINUTES = 600_000;
const { ca, good } = createCertificates();

let port: number;
let folder: string;
let server: ChildProcess;
const sockets: TLSSocket[] = [];

/** Unlike a Node server, an OpenSSL server renews the session of each socket that resumes one. */
beforeAll(async () => {
  port = await freePort();
  folder = mkdtempSync(join(tmpdir(), 'tls-sessions-'));
  const pem = join(folder, 'good.pem');
  writeFileSync(pem, good.key + good.cert);
  server = spawn('openssl', ['s_server', '-accept', `127.0.0.1:${port}`, '-cert', pem, '-tls1_3', '-rev']);
  if (server.stdout === null) throw new Error('The server writes nothing');
  for await (const line of server.stdout.iterator({ destroyOnReturn: false })) {
    if (String(line).includes('ACCEPT')) break;
  }
  server.stdout.resume();
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  const exited = once(server, 'exit');
  server.kill();
  await exited;
  rmSync(folder, { recursive: true });
});

/** Sets the clock forward. */
function pass(milliseconds: number): void {
  const now = performance.now();
  jest.spyOn(performance, 'now').mockReturnValue(now + milliseconds);
}

/** Connects with the stored session, if there is one. */
async function open(sessions: TlsSessions): Promise<TLSSocket> {
  const offered = sessions.find('receiver');
  const socket = connect({ host: '127.0.0.1', port, ca, ...(offered && { session: offered.ticket }) });
  sockets.push(socket);
  sessions.watch('receiver', socket, offered);
  await once(socket, 'secureConnect');
  expect(socket.isSessionReused()).toBe(offered !== undefined);
  return socket;
}

/** Opens and closes a socket. Returns the sessions, with the session that the socket left. */
async function afterOne(): Promise<TlsSessions> {
  const sessions = new TlsSessions();
  const socket = await open(sessions);
  await once(socket, 'session');
  socket.destroy();
  return sessions;
}

describe('a TLS session', () => {
  it('is resumed for ten minutes after the certificate was checked, even if its ticket is renewed', async () => {
    const sessions = await afterOne();
    pass(TEN_MINUTES - 60_000);
    const resumed = await open(sessions);
    await once(resumed, 'session');
    resumed.destroy();
    expect(sessions.find('receiver')).toBeDefined();
    pass(60_000);
    expect(sessions.find('receiver')).toBeUndefined();
  });

  it('is not kept if its ticket is renewed after that time', async () => {
    const sessions = await afterOne();
    const resumed = await open(sessions);
    pass(TEN_MINUTES);
    expect(sessions.find('receiver')).toBeUndefined();
    await once(resumed, 'session');
    resumed.destroy();
    expect(sessions.find('receiver')).toBeUndefined();
  });
});
