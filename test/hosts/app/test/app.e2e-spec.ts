import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { verifySignature } from 'nestjs-analytics';
import { AppModule } from './../src/app.module.js';
import { createHttpAdapter } from './../src/http-adapter.js';

function urlOf(server: Server): string {
  const address = server.address();
  return typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : '';
}

describe('The shop (e2e)', () => {
  let app: INestApplication;
  let receiver: Server;
  const received: { event: string; isVerified: boolean }[] = [];

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      void text(request).then((body) => {
        const { event } = JSON.parse(body) as { event: string };
        received.push({ event, isVerified: verifySignature(body, request.headers['x-signature'], 'teehee') });
        response.end();
        receiver.emit('received');
      });
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    process.env.RECEIVER_URL = urlOf(receiver);
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = module.createNestApplication(createHttpAdapter());
    await app.listen(0, '127.0.0.1');
  }, 60_000);

  afterAll(async () => {
    await app.close();
    receiver.close();
  }, 30_000);

  it('delivers the events of an order, signed', async () => {
    const answer = await fetch(`${await app.getUrl()}/orders/u1`, { method: 'POST' });
    expect(answer.status).toBe(201);
    while (received.length < 2) await once(receiver, 'received');
    expect(received.map(({ event }) => event).sort()).toEqual(['Order Completed', 'Order Requested']);
    expect(received.every(({ isVerified }) => isVerified)).toBe(true);
  }, 60_000);
});
