import { Buffer } from 'node:buffer';
import { createHmac, randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { createMessage } from './events.mjs';

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
      let next = 0;
      const work = async () => {
        while (next < requests.length) {
          const { target, id, body } = requests[next++];
          const signature = createHmac('sha1', secret).update(body).digest('hex');
          const headers = [
            ...['User-Agent', 'NestAnalytics/1.0', 'Content-Type', 'application/json'],
            ...['Accept-Encoding', 'identity', 'webhook-id', id, 'X-Signature', signature],
          ];
          const response = await target.pool.request({ path: target.path, method: 'POST', headers, body });
          await response.body.dump();
        }
      };
      await Promise.all(Array.from({ length: inFlight }, work));
    },

    close: () => Promise.all(targets.map(({ pool }) => pool.close())),
  };
}
