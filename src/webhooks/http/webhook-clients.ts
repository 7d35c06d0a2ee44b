import { WebhookClient } from './webhook-client.js';

/**
 * The HTTP clients of all webhooks destinations: one that keeps to public addresses and one that may
 * call any, so that a socket opened by one policy never serves the other.
 */
export class WebhookClients {
  private readonly guarded: WebhookClient;
  private readonly open: WebhookClient;

  /** @param connections sockets per origin */
  constructor(connections: number) {
    this.guarded = new WebhookClient({ connections, allowPrivateNetwork: false });
    this.open = new WebhookClient({ connections, allowPrivateNetwork: true });
  }

  for({ allowPrivateNetwork }: { allowPrivateNetwork: boolean }): WebhookClient {
    return allowPrivateNetwork ? this.open : this.guarded;
  }

  /** Breaks off what is in flight and closes all sockets. */
  async close(): Promise<void> {
    await Promise.all([this.guarded.close(), this.open.close()]);
  }
}
