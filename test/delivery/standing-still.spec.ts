import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { describeAnyServer } from '../support/describe-backend.js';
import { deferred } from '../support/deferred.js';
import { receivedIds } from '../support/message-ids.js';
import { Stage, webhooksTo } from '../support/stage.js';

function standStill(): void {
  const end = performance.now() + 2_000;
  while (performance.now() < end);
}

/** Opens two sockets that are connected to each other. */
async function openSockets(): Promise<[Socket, Socket]> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  const peer = await accepted;
  server.close();
  return [socket, peer];
}

describeAnyServer('an event loop that stands still', (backend) => {
  const stage = new Stage();

  it('causes no duplicates of requests under way, however short the timeout is', async () => {
    const answers: (() => void)[] = [];
    const receiver = await stage.receiver({
      answer: () => new Promise((resolve) => answers.push(resolve.bind(undefined, 200))),
    });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { timeout: 1_000, retryWindow: 60_000 }),
    });
    const ids = ['a', 'b', 'c'];
    for (const messageId of ids) app.analytics.track({ userId: 'u1', event: 'Once', messageId });
    await app.analytics.flush();
    await receiver.received(3);
    for (const answer of answers) answer();
    standStill();
    await app.settled();
    expect(receivedIds(receiver)).toEqual(ids);
    expect(receiver.requests).toHaveLength(3);
  });

  it('does not end a call of a custom destination that was answered meanwhile', async () => {
    const [socket, peer] = await openSockets();
    const begun = deferred();
    let calls = 0;
    const deliver = async (): Promise<void> => {
      if (++calls > 1) return;
      begun.resolve();
      await once(socket, 'data');
    };
    const app = await stage.app({
      connection: backend.connection,
      customDestinations: [{ id: 'own', timeout: 1_000, retryWindow: 60_000, deliver }],
    });
    app.analytics.track({ userId: 'u1', event: 'Once' });
    await app.analytics.flush();
    await begun.promise;
    peer.write('taken');
    standStill();
    await app.settled();
    expect(calls).toBe(1);
    socket.destroy();
  });
});
