import { Buffer } from 'node:buffer';
import { createHmac, randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { createMessage } from './events.mjs';

/** Returns undici's options for a request. The signature is made here, just before the request is sent. */
function optionsOf({ target, id, body }, secret) {
  const signature = createHmac('sha1', secret).update(body).digest('hex');
  const headers = [
    ...['User-Agent', 'NestAnalytics/1.0', 'Content-Type', 'application/json'],
    ...['Accept-Encoding', 'identity', 'webhook-id', id, 'X-Signature', signature],
  ];
  return { path: target.path, method: 'POST', headers, body };
}

/**
 * Posts one request after another, as cheaply as undici can: with `dispatch`, and with a handler that is created once
 * and waits only for the end of the response.
 */
class Poster {
  constructor(secret, next, done) {
    this.secret = secret;
    this.next = next;
    this.done = done;
  }

  send() {
    const request = this.next();
    if (request === undefined) {
      this.done();
      return;
    }
    request.target.pool.dispatch(optionsOf(request, this.secret), this);
  }

  onConnect() {}

  onHeaders() {
    return true;
  }

  onData() {
    return true;
  }

  onComplete() {
    this.send();
  }

  onError(error) {
    throw error;
  }
}

/**
 * Shows what a program costs that only signs and posts. It sends the bytes and headers of this module. The bodies are
 * made before the clock starts.
 */
export function createBareClient(urls, { connections, secret }) {
  const targets = urls.map((url) => {
    const { origin, pathname: path } = new URL(url);
    return { path, pool: new Pool(origin, { connections, pipelining: 1 }) };
  });

  return {
    /** Makes requests for `count` messages, `turn` in a row to each URL. */
    prepare(count, turn = 1) {
      return Array.from({ length: count }, (_, index) => {
        const id = randomUUID();
        const body = Buffer.from(JSON.stringify(createMessage(id)));
        return { target: targets[Math.floor(index / turn) % targets.length], id, body };
      });
    },

    /** Posts the requests in their order, `inFlight` at a time. Resolves when all are answered. */
    async post(requests, inFlight) {
      let index = 0;
      const next = () => requests[index++];
      const work = () => new Promise((done) => new Poster(secret, next, done).send());
      await Promise.all(Array.from({ length: inFlight }, work));
    },

    /** Does the same in the way of most programs: with `Pool.request`, and a promise for each request. */
    async request(requests, inFlight) {
      let index = 0;
      const work = async () => {
        while (index < requests.length) {
          const request = requests[index++];
          const { body } = await request.target.pool.request(optionsOf(request, secret));
          await body.dump();
        }
      };
      await Promise.all(Array.from({ length: inFlight }, work));
    },

    close: () => Promise.all(targets.map(({ pool }) => pool.close())),
  };
}
