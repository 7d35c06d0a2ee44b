import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiRequests } from '../../src/console/page/api-requests.js';

const TRY_AGAIN = 'Try again in a moment';
const MAY_HAVE_DONE = 'Your request may have been carried out anyway';

/** Answers that take the place of the application's answer. */
const ANSWERS: Readonly<Record<string, RequestListener>> = {
  'the page of a proxy that waits no longer': (_, response) => {
    response.writeHead(504, { 'content-type': 'text/html' }).end('<h1>Gateway Time-out');
  },
  'an answer that breaks off': (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
    response.write('{"id":', () => response.destroy());
  },
  'the page on which to sign in': (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in');
  },
  'JSON of something else': (_, response) => {
    response.writeHead(502, { 'content-type': 'application/json' }).end('{"message":"Bad Gateway"}');
  },
};

describe('a request of the page that gets', () => {
  let server: Server;
  let answer: RequestListener;

  beforeAll(async () => {
    server = createServer((request, response) => {
      answer(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    server.close();
    await once(server, 'close');
  });

  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

  describe.each(Object.keys(ANSWERS))('%s', (name) => {
    beforeAll(() => {
      answer = ANSWERS[name] ?? answer;
    });

    it('may be tried again if it only reads', async () => {
      await expect(new ApiRequests().read(url(), 10_000)).rejects.toThrow(TRY_AGAIN);
    });

    it.each(['POST', 'PATCH', 'DELETE'])(
      'may have been carried out all the same if it changes something (%s)',
      async (method) => {
        const sent = new ApiRequests().send(method, url(), {});
        await expect(sent).rejects.toMatchObject({
          code: 'UNEXPECTED_ANSWER',
          message: expect.stringContaining(MAY_HAVE_DONE),
        });
        await expect(sent).rejects.not.toThrow(TRY_AGAIN);
      },
    );
  });
});
