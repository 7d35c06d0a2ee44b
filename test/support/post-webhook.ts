import type { WebhookClient } from '../../src/webhooks/http/webhook-client.js';
import { requestTarget, type WebhookRequest } from '../../src/webhooks/http/webhook-request.js';
import type { WebhookResponse } from '../../src/webhooks/http/webhook-response.js';

/** Posts to a URL. Parts of the request that are not given have values that do not matter. */
export function postWebhook(
  client: WebhookClient,
  url: string,
  request: Partial<WebhookRequest> = {},
): Promise<WebhookResponse | undefined> {
  return new Promise((settle) => {
    const target = requestTarget(new URL(url));
    const { signal } = new AbortController();
    client.post({ target, headers: [], body: Buffer.from('{}'), timeout: 5_000, signal, ...request }, settle);
  });
}
