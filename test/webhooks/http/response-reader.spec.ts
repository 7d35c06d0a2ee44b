import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { WebhookClient } from '../../../src/webhooks/http/webhook-client.js';
import { webhookErrorCode } from '../../../src/webhooks/http/webhook-error-code.js';
import { postWebhook } from '../../support/post-webhook.js';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Returns a head of this many bytes that consists of the smallest possible headers. */
function headOf(bytes: number): string {
  const start = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n';
  return `${start}${'a:b\r\n'.repeat(Math.floor((bytes - start.length - 2) / 5))}\r\n`;
}

describe('the response reader', () => {
  let client: WebhookClient;
  let server: Server;
  let requests: number;
  let connections: number;
  let respond: (socket: Socket) => void;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    client = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    [requests, connections] = [0, 0];
    server = createServer((socket) => {
      connections++;
      sockets.push(socket.on('error', () => undefined).setNoDelay(true));
      socket.on('data', () => {
        requests++;
        respond(socket);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });

  afterEach(async () => {
    await client.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  async function post(timeout = 5_000): Promise<number | string> {
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('The server is not listening.');
    const response = await postWebhook(client, `http://127.0.0.1:${address.port}/`, { timeout });
    if (response === undefined) return 'aborted';
    return response.error === undefined ? response.status : webhookErrorCode(response.error);
  }

  /** Writes the parts so that they arrive one by one. */
  function answerIn(parts: string[]): void {
    respond = (socket) => {
      const rest = [...parts];
      const write = (): void => {
        const part = rest.shift();
        if (part !== undefined) socket.write(part, 'latin1', () => setTimeout(write, 2));
      };
      write();
    };
  }

  it('uses each connection once if bytes follow an answer while the next request is under way', async () => {
    const used = new Set<Socket>();
    respond = (socket) => {
      const late = used.has(socket) ? 'OK' : '';
      used.add(socket);
      socket.write(`${late}HTTP/1.1 204 No Content\r\n\r\n`);
    };
    const results: (number | string)[] = [];
    for (let n = 0; n < 6; n++) results.push(await post());
    expect(results).toEqual([204, 204, 204, 204, 204, 204]);
    // The second request was sent again over a new connection.
    expect([requests, connections]).toEqual([7, 6]);
  });

  it.each([
    ['an unasked 100 Continue', ['HTTP/1.1 100 Continue\r\n\r\n', ANSWER]],
    ['an unasked 100 Continue in the same packet', [`HTTP/1.1 100 Continue\r\n\r\n${ANSWER}`]],
    ['20 announcements', [`${'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(20)}${ANSWER}`]],
    ['an announcement without a reason', ['HTTP/1.1 102\r\n\r\n', ANSWER]],
    [
      'announcements byte by byte',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\nA: b\r\n\r\n${ANSWER}`.split(''),
    ],
    ['a blank line', [`\r\n${ANSWER}`]],
    [
      'blank lines and announcements of nearly 16 KiB',
      ['\r\n'.repeat(4_000), `HTTP/1.1 103 E\r\nA: ${'b'.repeat(8_000)}\r\n\r\n${ANSWER}`],
    ],
  ])('accepts the answer after %s, and uses the connection again', async (_, parts) => {
    answerIn(parts);
    expect(await post()).toBe(200);
    expect(await post()).toBe(200);
    expect([requests, connections]).toEqual([2, 1]);
  });

  it.each([
    ['21 announcements', 'INVALID_RESPONSE', [`${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(21)}${ANSWER}`]],
    ['announcements without an end', 'INVALID_RESPONSE', Array<string>(30).fill('HTTP/1.1 103 E\r\n\r\n')],
    ['an announcement of over 16 KiB', 'HEADERS_TOO_LARGE', [`HTTP/1.1 103 E\r\n${'a:b\r\n'.repeat(4_000)}`]],
    ['blank lines of over 16 KiB', 'HEADERS_TOO_LARGE', ['\r\n'.repeat(8_500), ANSWER]],
    ['announcements of over 16 KiB together', 'HEADERS_TOO_LARGE', [`${`HTTP/1.1 103 E\r\n${'a:b\r\n'.repeat(1_700)}\r\n`.repeat(2)}${ANSWER}`]],
    ['HTTP/2.0', 'INVALID_RESPONSE', ['HTTP/2.0 200 OK\r\n\r\n']],
    ['HTTP/0.9', 'INVALID_RESPONSE', ['HTTP/0.9 200 OK\r\n\r\n']],
    ['another protocol', 'INVALID_RESPONSE', ['RTSP/1.0 200 OK\r\n\r\n']],
    ['a banner', 'INVALID_RESPONSE', ['SSH-2.0-OpenSSH_9.2\r\n']],
    ['the start of another protocol, and nothing more', 'INVALID_RESPONSE', ['22']],
    ['a switch of protocols', 'CONNECTION_CLOSED', ['HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n']],
    ['a head of one byte over 16 KiB', 'HEADERS_TOO_LARGE', [`${headOf(16 * 1024).slice(0, -4)}${'c'.repeat(16)}\r\n\r\n`]],
  ])('treats %s as a failure: %s', async (_, code, parts) => {
    answerIn(parts);
    expect(await post()).toBe(code);
    expect(requests).toBe(1);
  }); // prettier-ignore

  it('accepts a head of nearly 16 KiB', async () => {
    answerIn([headOf(16 * 1024)]);
    expect(await post()).toBe(200);
  });

  it('counts the informational responses of each answer separately', async () => {
    answerIn([`${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(15)}${ANSWER}`]);
    for (let n = 0; n < 3; n++) expect(await post()).toBe(200);
    expect(connections).toBe(1);
  });

  it.each([
    ['a head of 63 KB', 'HEADERS_TOO_LARGE', headOf(63 * 1024)],
    ['a head of 63 KB after an announcement', 'HEADERS_TOO_LARGE', `HTTP/1.1 103 E\r\n\r\n${headOf(63 * 1024)}`],
    ['trailers of 63 KB', 200, `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${'a:b\r\n'.repeat(12_600)}\r\n`],
  ])('spends hardly any CPU time on %s', async (_, came, answer) => {
    answerIn([ANSWER]);
    await post();
    respond = (socket) => socket.write(answer);
    const spent: number[] = [];
    for (let n = 0; n < 5; n++) {
      const before = process.cpuUsage();
      expect(await post()).toBe(came);
      const { user, system } = process.cpuUsage(before);
      spent.push((user + system) / 1_000);
    }
    // Each would take well over 100 ms if the HTTP client read all of it.
    expect(Math.min(...spent)).toBeLessThan(60);
  }); // prettier-ignore
});
