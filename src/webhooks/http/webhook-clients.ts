import { HostResolver } from './host-resolver.js';
import { WebhookClient } from './webhook-client.js';

/**
 * The HTTP clients of all webhooks destinations: one limited to public addresses, and one that may call any address. A
 * socket opened under one policy never serves the other.
 */
export class WebhookClients {
  private readonly guarded: WebhookClient;
  private readonly open: WebhookClient;

  /**
   * @param connections sockets per origin
   * @param resolver resolves the names of all receivers; closed with the clients
   */
  constructor(
    connections: number,
    private readonly resolver = new HostResolver(),
  ) {
    const clientFor = (allowPrivateNetwork: boolean): WebhookClient => {
      const lookup = resolver.lookupFor({ allowPrivateNetwork });
      return new WebhookClient({ connections, allowPrivateNetwork, lookup });
    };
    this.guarded = clientFor(false);
    this.open = clientFor(true);
  }

  for({ allowPrivateNetwork }: { allowPrivateNetwork: boolean }): WebhookClient {
    return allowPrivateNetwork ? this.open : this.guarded;
  }

  /** Ends all requests in flight and closes all sockets. */
  async close(): Promise<void> {
    const closed = Promise.all([this.guarded.close(), this.open.close()]);
    // This comes after the requests are broken off. Otherwise they would count as failures of their receivers.
    this.resolver.close();
    await closed;
  }
}
