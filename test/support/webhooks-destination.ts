import type { EndpointObserver } from '../../src/webhooks/endpoint-state.js';
import type { WebhookClient } from '../../src/webhooks/http/webhook-client.js';
import {
  WebhooksDestination,
  type WebhooksDestinationOptions,
} from '../../src/webhooks/webhooks-destination.js';

/** Returns a webhooks destination without a module around it, with the default options. */
export function webhooksDestination(
  client: WebhookClient,
  urls: readonly string[],
  options: Partial<WebhooksDestinationOptions> = {},
  observer?: EndpointObserver,
): WebhooksDestination {
  return new WebhooksDestination(
    {
      id: 'crm',
      urls: urls.map((url) => new URL(url)),
      headers: {},
      sharedSecret: undefined,
      timeout: 5_000,
      retryWindow: 14_400_000,
      retryStatuses: ['5xx', 408, 425, 429],
      ...options,
    },
    client,
    observer,
  );
}
