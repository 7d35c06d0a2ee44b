import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from '@jest/globals';
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
