import { Buffer } from 'node:buffer';
import { createHmac, randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { createMessage } from './events.mjs';

/** What undici needs for a request that is signed just before it is sent. */
function optionsOf({ target, id, body }, secret) {
  const signature = createHmac('sha1', secret).update(body).digest('hex');
  const headers = [
    ...['User-Agent', 'NestAnalytics/1.0', 'Content-Type', 'application/json'],
    ...['Accept-Encoding', 'identity', 'webhook-id', id, 'X-Signature', signature],
  ];
  return { path: target.path, method: 'POST', headers, body };
}

/**
 * Posts one request after the other, as cheaply as undici can: by `dispatch`, with a handler that is made once
 * and asks for nothing but the end of the response.
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
 * What a program costs that only signs and posts: the bytes and headers are those of this module, and they
 * are all made before the clock starts.
 */
export function createBareClient(urls, { connections, secret }) {
  const targets = urls.map((url) => {
    const { origin, pathname: path } = new URL(url);
    return { path, pool: new Pool(origin, { connections, pipelining: 1 }) };
  });

  return {
    /** Requests for so many messages, `turn` at a time to each URL. */
    prepare(count, turn = 1) {
      return Array.from({ length: count }, (_, index) => {
        const id = randomUUID();
        const body = Buffer.from(JSON.stringify(createMessage(id)));
        return { target: targets[Math.floor(index / turn) % targets.length], id, body };
      });
    },

    /** Posts the requests in their order, so many at a time; resolves when all are answered. */
    async post(requests, inFlight) {
      let index = 0;
      const next = () => requests[index++];
      const work = () => new Promise((done) => new Poster(secret, next, done).send());
      await Promise.all(Array.from({ length: inFlight }, work));
    },

    /** The same as most programs do it: by `Pool.request`, with a promise for each. */
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
