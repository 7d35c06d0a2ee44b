import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { WebhookClient } from '../../../src/webhooks/http/webhook-client.js';
import { webhookErrorCode } from '../../../src/webhooks/http/webhook-error-code.js';
import type { WebhookRequest } from '../../../src/webhooks/http/webhook-request.js';
import type { WebhookResponse } from '../../../src/webhooks/http/webhook-response.js';
import { postWebhook } from '../../support/post-webhook.js';
import { Receiver, type Answer, type ReceiverOptions } from '../../support/receiver.js';
import { until } from '../../support/until.js';

/** Returns the result of a request in one word. */
function result(response: WebhookResponse | undefined): number | string {
  if (response === undefined) return 'aborted';
  return response.error === undefined ? response.status : webhookErrorCode(response.error);
}

/** Returns the kept part of the body, which only a response with a status has. */
function bodyOf(response: WebhookResponse | undefined): Buffer {
  if (response?.error !== undefined || response === undefined) throw new Error('There was no response.');
  return response.body;
}

/** Starts a receiver in a thread of its own, which reports each request and answers after this many milliseconds. */
async function receiveInWorker(delay: number): Promise<{ port: number; worker: Worker }> {
  const program = `
    const { parentPort } = require('node:worker_threads');
    const server = require('node:http').createServer((request, response) => {
      parentPort.postMessage('request');
      setTimeout(() => response.end('late'), ${delay});
    });
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;
  const worker = new Worker(program, { eval: true });
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  return { port, worker };
}

describe('a webhook client', () => {
  let client: WebhookClient;
  let signal: AbortSignal;
  const closing: (() => Promise<unknown>)[] = [];

  beforeEach(() => {
    signal = new AbortController().signal;
    client = new WebhookClient({ connections: 4, allowPrivateNetwork: true });
  });

  afterEach(async () => {
    await client.close();
    await Promise.all(closing.splice(0).map((close) => close()));
  });

  async function receive(options: ReceiverOptions = {}): Promise<Receiver> {
    const receiver = await Receiver.start(options);
    closing.push(() => receiver.close());
    return receiver;
  }

  function post(
    url: string,
    request: Partial<WebhookRequest> = {},
    through = client,
  ): Promise<WebhookResponse | undefined> {
    return postWebhook(through, url, { headers: ['X-Env', 'test'], signal, ...request });
  }

  it('posts the given bytes and headers, to the path and query of the URL', async () => {
    const receiver = await receive({ answer: [{ status: 202, body: 'accepted' }] });
    const body = Buffer.from('{"name":"Zoë 🚀"}');
    const response = await post(receiver.url('/hook%20s?a=b&c#part'), { body });
    expect(result(response)).toBe(202);
    expect(bodyOf(response).toString()).toBe('accepted');
    expect(receiver.requests).toMatchObject([
      { method: 'POST', url: '/hook%20s?a=b&c', body, headers: { 'x-env': 'test' } },
    ]);
  });

  it('keeps connections alive, and opens a limited number of connections to an origin', async () => {
    const receiver = await receive();
    const responses = await Promise.all(Array.from({ length: 100 }, () => post(receiver.url())));
    expect(responses.map(result)).toEqual(Array.from({ length: 100 }, () => 200));
    expect(receiver.connections).toBe(4);
  });

  it('closes the least recently used idle connection if there are too many over all origins', async () => {
    const frugal = new WebhookClient({ connections: 4, idleConnections: 2, allowPrivateNetwork: true });
    closing.push(() => frugal.close());
    const receivers = [await receive(), await receive(), await receive()];
    const [first, second, third] = receivers;
    for (const receiver of receivers) await post(receiver.url(), {}, frugal);
    for (const receiver of [third, second, first]) if (receiver) await post(receiver.url(), {}, frugal);
    expect([first, second, third].map((receiver) => receiver?.connections)).toEqual([2, 1, 1]);
  });

  it('reads a small body to its end and uses the connection again', async () => {
    const receiver = await receive({ answer: [{ status: 200, body: 'x'.repeat(15_000) }] });
    expect(bodyOf(await post(receiver.url()))).toEqual(Buffer.alloc(1024, 'x'));
    await post(receiver.url());
    expect(receiver.connections).toBe(1);
  });

  it('serves a thousand origins', async () => {
    const receiver = await receive();
    const named = new WebhookClient({
      connections: 2,
      allowPrivateNetwork: true,
      lookup: (_host, _options, callback) => { callback(null, [{ address: '127.0.0.1', family: 4 }]); },
    }); // prettier-ignore
    closing.push(() => named.close());
    const urls = Array.from({ length: 1_000 }, (_, index) => `http://r${index}.test:${receiver.port}/`);
    const responses = await Promise.all(urls.map((url) => post(url, { timeout: 60_000 }, named)));
    expect(new Set(responses.map(result))).toEqual(new Set([200]));
    expect(new Set(receiver.requests.map(({ headers }) => headers.host)).size).toBe(1_000);
  });

  describe('reports a timeout', () => {
    const timeout = 200;

    it.each<[string, Answer]>([
      ['a receiver that never answers', () => undefined],
      ['a head that never ends', (_response, socket) => { socket.write('HTTP/1.1 200 OK\r\nX-A: b\r\n'); }],
      ['a head that drips', (_response, socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        const drip = setInterval(() => socket.write('X-A: b\r\n'), 20);
        socket.on('close', () => { clearInterval(drip); });
      }],
      ['an announcement without a response', (response) => { response.writeEarlyHints({ link: '</a>; rel=preload' }); }],
    ])('for %s', async (_, answer) => {
      const receiver = await receive({ answer: [answer] });
      expect(result(await post(receiver.url(), { timeout }))).toBe('TIMEOUT');
    }); // prettier-ignore

    it('for a TLS handshake that stalls, and closes its socket', async () => {
      let onClose: (() => void) | undefined;
      const closed = new Promise<void>((resolve) => (onClose = resolve));
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('close', () => onClose?.());
        socket.resume();
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      closing.push(async () => {
        server.close();
        await once(server, 'close');
      });
      const address = server.address();
      if (typeof address !== 'object' || address === null) throw new Error('The server is not listening.');
      expect(result(await post(`https://127.0.0.1:${address.port}/`, { timeout }))).toBe('TIMEOUT');
      // Long before any connect timeout, or the test would wait here for the socket.
      await closed;
    }, 5_000);

    it('that counts from when a connection is free, so that load causes no timeout', async () => {
      const busy = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
      closing.push(() => busy.close());
      const receiver = await receive({ answer: [() => undefined, 200] });
      const [first, second] = await Promise.all([
        post(receiver.url(), { timeout: 3_000 }, busy),
        post(receiver.url(), { timeout: 2_500 }, busy),
      ]);
      expect([first, second].map(result)).toEqual(['TIMEOUT', 200]);
    });

    it('but not for a receiver that answers while the process stands still', async () => {
      const { port, worker } = await receiveInWorker(100);
      closing.push(() => worker.terminate());
      const posted = post(`http://127.0.0.1:${port}/`, { timeout: 3_000 });
      await once(worker, 'message');
      const end = performance.now() + 3_500;
      while (performance.now() < end);
      expect(result(await posted)).toBe(200);
    });

    it('but not for a connection made while the process stands still, which sends the request once', async () => {
      const { port, worker } = await receiveInWorker(0);
      closing.push(() => worker.terminate());
      let requests = 0;
      worker.on('message', () => requests++);
      const posted = post(`http://127.0.0.1:${port}/`, { timeout: 3_000 });
      const end = performance.now() + 3_500;
      while (performance.now() < end);
      expect(result(await posted)).toBe(200);
      // The receiver reports requests on another channel than its answer.
      await until(() => requests > 0 || undefined);
      expect(requests).toBe(1);
    });

    it('and frees the connection for the next request', async () => {
      const receiver = await receive({ answer: [...Array.from({ length: 4 }, () => () => undefined), 200] });
      const hung = await Promise.all([1, 2, 3, 4].map(() => post(receiver.url(), { timeout })));
      expect(hung.map(result)).toEqual(['TIMEOUT', 'TIMEOUT', 'TIMEOUT', 'TIMEOUT']);
      expect(result(await post(receiver.url()))).toBe(200);
    });
  });

  describe('reports the status in spite of', () => {
    it.each<[string, Answer]>([
      ['a body that never ends', (response) => { response.writeHead(200).write('kept'); }],
      ['a body that drips', (response, socket) => {
        response.writeHead(200).write('kept');
        const drip = setInterval(() => response.write('.'), 20);
        socket.on('close', () => { clearInterval(drip); });
      }],
      ['a reset in the body', (response, socket) => {
        response.writeHead(200).write('kept', () => socket.resetAndDestroy());
      }],
      ['a body that is cut short', (response, socket) => {
        response.writeHead(200, { 'content-length': '100' }).write('kept', () => socket.end());
      }],
      ['broken chunks', (_response, socket) => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nkept\r\nnonsense\r\n');
      }],
    ])('%s', async (_, answer) => {
      const receiver = await receive({ answer: [answer, 204] });
      const response = await post(receiver.url());
      expect(result(response)).toBe(200);
      expect(bodyOf(response).toString()).toMatch(/^kept/);
      expect(result(await post(receiver.url()))).toBe(204);
    }); // prettier-ignore

    it('an endless body, of which it keeps 1 KiB and soon stops reading', async () => {
      let closed: Promise<unknown> = Promise.resolve();
      let sent = 0;
      const receiver = await receive({
        answer: [(response, socket) => {
          closed = new Promise((resolve) => socket.on('close', resolve));
          response.writeHead(200);
          const chunk = Buffer.alloc(65_536, 'x');
          const fill = (): void => {
            do sent += chunk.length;
            while (!socket.destroyed && response.write(chunk));
          };
          response.on('drain', fill);
          fill();
        }],
      }); // prettier-ignore
      const response = await post(receiver.url());
      expect(result(response)).toBe(200);
      expect(bodyOf(response)).toEqual(Buffer.alloc(1024, 'x'));
      await closed;
      // No more than the sockets buffer on the way.
      expect(sent).toBeLessThan(16 * 1024 * 1024);
    });
  });

  it('does not follow a redirect to itself', async () => {
    const receiver = await receive({ answer: [{ status: 308, headers: { location: '/' } }] });
    expect(result(await post(receiver.url()))).toBe(308);
    expect(receiver.requests).toHaveLength(1);
  });

  it('does not follow redirects to another host', async () => {
    const target = await receive();
    const receiver = await receive({ answer: [{ status: 307, headers: { location: target.url() } }] });
    expect(result(await post(receiver.url()))).toBe(307);
    expect(target.connections).toBe(0);
  });

  it('skips informational responses before the response', async () => {
    const answer: Answer = (response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeHead(503, { 'retry-after': '7' }).end();
    };
    const receiver = await receive({ answer: [answer] });
    expect(await post(receiver.url())).toMatchObject({ status: 503, retryAfter: '7' });
  });

  it('never decompresses a body, so that a decompression bomb is harmless', async () => {
    const body = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const receiver = await receive({
      answer: [{ status: 200, headers: { 'content-encoding': 'gzip' }, body }],
    });
    expect(bodyOf(await post(receiver.url()))).toEqual(body.subarray(0, 1024));
  });

  it.each<[string, string, Answer]>([
    ['headers over 16 KiB', 'HEADERS_TOO_LARGE', { status: 200, headers: { 'x-large': 'x'.repeat(100_000) } }],
    ['what is not HTTP', 'INVALID_RESPONSE', (_response, socket) => { socket.end('220 smtp.example.com\r\n'); }],
    ['an invalid status line', 'INVALID_RESPONSE', (_response, socket) => { socket.end('HTTP/1.1 abc\r\n\r\n'); }],
    ['a status below 100', 'INVALID_RESPONSE', (_response, socket) => { socket.end('HTTP/1.1 099 X\r\n\r\n'); }],
    ['an invalid header after a length', 'INVALID_RESPONSE', (_response, socket) => { socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nNo Token: 1\r\n\r\nOK'); }],
    ['two lengths', 'INVALID_RESPONSE', (_response, socket) => { socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nOK'); }],
    ['a reset', 'ECONNRESET', (_response, socket) => { socket.resetAndDestroy(); }],
    ['a close', 'CONNECTION_CLOSED', (_response, socket) => { socket.end(); }],
    ['a close in the head', 'CONNECTION_CLOSED', (_response, socket) => { socket.end('HTTP/1.1 200 OK\r\nX-A'); }],
    ['an upgrade', 'CONNECTION_CLOSED', (_response, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n');
    }],
  ])('reports %s as %s after one attempt', async (_, code, answer) => {
    const receiver = await receive({ answer: [answer] });
    expect(result(await post(receiver.url()))).toBe(code);
    expect(receiver.requests).toHaveLength(1);
  }); // prettier-ignore

  it('reports a connection that is closed before the request as closed or reset', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    closing.push(async () => {
      server.close();
      await once(server, 'close');
    });
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('The server is not listening.');
    // Which of the two depends on whether the request was under way.
    const { port } = address;
    expect(['CONNECTION_CLOSED', 'ECONNRESET']).toContain(result(await post(`http://127.0.0.1:${port}/`)));
  });

  it('reports a refused connection, and a name that does not resolve', async () => {
    const receiver = await receive();
    const url = receiver.url();
    await receiver.close();
    expect(result(await post(url))).toBe('ECONNREFUSED');
    const lost = new WebhookClient({
      connections: 1,
      allowPrivateNetwork: true,
      lookup: (_host, _options, callback) => {
        callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), []);
      },
    });
    closing.push(() => lost.close());
    expect(result(await post('http://nowhere.invalid/', {}, lost))).toBe('DNS_FAILED');
  });

  describe('if a kept connection is dead', () => {
    it.each<[string, string, Answer]>([
      ['reset', 'ECONNRESET', (_response, socket) => { socket.resetAndDestroy(); }],
      ['closed', 'CONNECTION_CLOSED', (_response, socket) => { socket.end(); }],
    ])('tries once more on a new connection (%s)', async (_, code, die) => {
      const receiver = await receive({
        answer: (request, index) => (request.connection === 0 && index > 0 ? die : 200),
      });
      expect(result(await post(receiver.url()))).toBe(200);
      expect(result(await post(receiver.url()))).toBe(200);
      expect(receiver.requests.map(({ connection }) => connection)).toEqual([0, 0, 1]);

      const mortal = await receive({ answer: (_request, index) => (index > 0 ? die : 200) });
      expect(result(await post(mortal.url()))).toBe(200);
      expect(result(await post(mortal.url()))).toBe(code);
      expect(mortal.requests.map(({ connection }) => connection)).toEqual([0, 0, 1]);
    }); // prettier-ignore

    it('does not try again if a byte of the response had arrived', async () => {
      const die: Answer = (_response, socket) => { socket.end('HTTP/1.1 2'); }; // prettier-ignore
      const receiver = await receive({ answer: [200, die] });
      expect(result(await post(receiver.url()))).toBe(200);
      expect(result(await post(receiver.url()))).toBe('CONNECTION_CLOSED');
      expect(receiver.requests).toHaveLength(2);
    });

    it('does not start a new timeout', async () => {
      const receiver = await receive({
        answer: (request, index) =>
          request.connection > 0 ? () => undefined : index > 0 ? (_response, socket) => { socket.end(); } : 200,
      }); // prettier-ignore
      expect(result(await post(receiver.url()))).toBe(200);
      expect(result(await post(receiver.url(), { timeout: 200 }))).toBe('TIMEOUT');
      expect(receiver.requests).toHaveLength(3);
    });
  });

  it('ends requests that a signal aborts, sent or waiting, and no others', async () => {
    const single = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    closing.push(() => single.close());
    const receiver = await receive({ answer: [() => undefined, 200] });
    const controller = new AbortController();
    const sent = post(receiver.url(), { signal: controller.signal }, single);
    const waiting = post(receiver.url(), { signal: controller.signal }, single);
    const other = post(receiver.url(), {}, single);
    await receiver.received(1);
    controller.abort();
    expect(await Promise.all([sent, waiting, other].map(async (it) => result(await it)))).toEqual([
      'aborted',
      'aborted',
      200,
    ]);
    expect(result(await post(receiver.url(), { signal: controller.signal }, single))).toBe('aborted');
    expect(receiver.requests).toHaveLength(2);
  });

  it('keeps the status if a signal aborts during the body, unless the body is read', async () => {
    const head: Answer = (_response, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n');
    };
    const receiver = await receive({ answer: [head] });
    const abortAfterHead = async (readsBody: boolean): Promise<number | string> => {
      const controller = new AbortController();
      const onFirstByte = (): void => void setImmediate(() => { controller.abort(); }); // prettier-ignore
      return result(await post(receiver.url(), { signal: controller.signal, onFirstByte, readsBody }));
    };
    expect(await abortAfterHead(false)).toBe(200);
    expect(await abortAfterHead(true)).toBe('aborted');
  });

  it('keeps the connection when a request that waits for it is aborted', async () => {
    const single = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    closing.push(() => single.close());
    let answer: (() => void) | undefined;
    const receiver = await receive({ answer: [(response) => (answer = () => response.end()), 200] });
    const controller = new AbortController();
    const sent = post(receiver.url(), {}, single);
    const aborted = post(receiver.url(), { signal: controller.signal }, single);
    const waiting = post(receiver.url(), {}, single);
    await receiver.received(1);
    controller.abort();
    expect(result(await aborted)).toBe('aborted');
    answer?.();
    expect([await sent, await waiting].map(result)).toEqual([200, 200]);
    expect(receiver.connections).toBe(1);
  });

  it('ends requests in flight when it is closed, and sends nothing afterwards', async () => {
    const receiver = await receive({ answer: [() => undefined] });
    const sent = Promise.all(Array.from({ length: 10 }, () => post(receiver.url())));
    await receiver.received(4);
    await client.close();
    expect(new Set((await sent).map(result))).toEqual(new Set(['aborted']));
    expect(result(await post(receiver.url()))).toBe('aborted');
    expect(receiver.requests).toHaveLength(4);
  });
});
