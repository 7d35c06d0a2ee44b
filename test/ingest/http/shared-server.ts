import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { quickConnections } from '../../support/quick-connections.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { type ServerOptions, TrackingServer } from './tracking-server.js';

export interface SharedServer {
  server: TrackingServer;
  /** Receiver of the server's deliveries. It forgets its requests before each test. */
  receiver: Receiver;
}

/**
 * Has the tests of a `describe` share a server with the tracking API.
 *
 * @param onStarted called before the first test
 */
export function shareServer(options: ServerOptions, onStarted: (shared: SharedServer) => void): void {
  const stage = new Stage(afterAll);
  const newConnection = quickConnections();
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await stage.receiver();
    const connection = await newConnection();
    const analytics = { webhooks: webhooksTo(receiver), connection, ...options.analytics };
    const server = await stage.add(TrackingServer.start({ ...options, analytics }));
    onStarted({ server, receiver });
  });
  beforeEach(() => {
    receiver.requests.length = 0;
  });
}
