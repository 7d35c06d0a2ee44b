import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { writeStream } from '../../src/http/http-answer.js';
import { until } from '../support/until.js';

/** More than the buffers of a connection hold. */
const PART = 'x'.repeat(8 * 1024 * 1024);

it('a stream that nobody reads does not keep its server from closing', async () => {
  const closing = new AbortController();
  let isStopped = false;
  const server = createServer((request, response) => {
    const headers = { 'content-type': 'text/event-stream' };
    async function* parts(ended: AbortSignal): AsyncGenerator<string> {
      while (!ended.aborted) yield await Promise.resolve(PART);
      isStopped = true;
    }
    void writeStream(request, response, { status: 200, headers, parts }, closing.signal);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  reader.on('error', () => undefined);
  reader.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  await until(() => response.writableNeedDrain || undefined);
  const closed = once(server, 'close');
  server.close();
  closing.abort();
  await closed;
  expect(isStopped).toBe(true);
  reader.destroy();
});

describe('a stream that waits behind another stream on its connection', () => {
  const ends = new EventEmitter();
  const closing = new AbortController();
  const server = createServer((request, response) => {
    async function* parts(ended: AbortSignal): AsyncGenerator<string> {
      while (!ended.aborted) yield await Promise.resolve(PART);
      ends.emit(request.url ?? '');
    }
    void writeStream(request, response, { status: 200, headers: {}, parts }, closing.signal);
  });

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
  });
  afterEach(() => {
    jest.useRealTimers();
    closing.abort();
    server.close();
  });

  it('ends once nobody has read it for half a minute', async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const reader = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    reader.on('error', () => undefined);
    const asked = new Promise<void>((resolve) => {
      server.on('request', ({ url }) => {
        if (url === '/second') resolve();
      });
    });
    for (const path of ['/first', '/second']) reader.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await asked;
    const ended = ['/first', '/second'].map((path) => once(ends, path));
    reader.destroy();
    await ended[0];
    jest.advanceTimersByTime(30_000);
    await ended[1];
  }, 5_000);
});
