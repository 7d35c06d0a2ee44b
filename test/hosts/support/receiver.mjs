import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

/** A customer's receiver, which knows the specification but nothing of this package. */
export class Receiver {
  /** `{ event, isSigned }` of each message that arrived. */
  received = [];

  constructor(sharedSecret) {
    this.server = createServer(async (request, response) => {
      const body = await text(request);
      const signature = createHmac('sha1', sharedSecret).update(body).digest('hex');
      const isSigned = request.headers['x-signature']?.toLowerCase() === signature;
      this.received.push({ event: JSON.parse(body).event, isSigned });
      response.writeHead(isSigned ? 204 : 401).end();
      this.server.emit('received');
    });
  }

  async listen() {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${this.server.address().port}/events`;
  }

  /** Resolves once all of these events have arrived. Rejects if any message has no valid signature. */
  async has(events) {
    for (;;) {
      const unsigned = this.received.find(({ isSigned }) => !isSigned);
      if (unsigned) throw new Error(`${unsigned.event} came without a valid signature`);
      if (events.every((event) => this.received.some((message) => message.event === event))) return;
      await once(this.server, 'received');
    }
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
