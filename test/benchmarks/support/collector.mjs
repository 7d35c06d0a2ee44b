import { once } from 'node:events';
import { createServer } from 'node:http';

/** Connections that a client may open at once. */
const BACKLOG = 4_096;

/** Counts how often each message arrives. */
export class Arrivals {
  counts = new Map();

  add(id) {
    this.counts.set(id, (this.counts.get(id) ?? 0) + 1);
  }

  /** Returns how many messages have arrived exactly once, and how many more often, since the previous call. */
  take() {
    const counts = [...this.counts.values()];
    this.counts.clear();
    const once = counts.filter((count) => count === 1).length;
    return { once, repeated: counts.length - once };
  }
}

/** Receives the batches of the peers over HTTP. */
export async function startCollector() {
  const arrivals = new Arrivals();
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json').end('{}');
      const { batch } = JSON.parse(Buffer.concat(chunks));
      for (const { messageId, uuid } of batch) arrivals.add(messageId ?? uuid);
    });
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: BACKLOG });
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    take: () => arrivals.take(),
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
