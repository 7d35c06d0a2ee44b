import { isReservedHeader } from './header-rules.js';
import type { HmacKey } from './hmac-key.js';
import type { RequestHeaders } from './request-headers.js';
import { standardSignature } from './standard-signature.js';
import { sharedKey, signature } from './webhook-signature.js';

/**
 * Builds the headers of a destination's requests: the customer's first, then ours, as alternating names
 * and values. `Host`, `Connection` and `Content-Length` are written by the HTTP client.
 */
export class WebhookHeaders {
  readonly #fixed: readonly string[];
  readonly #sharedKey: HmacKey | undefined;
  readonly #standardKeys: readonly HmacKey[];

  /** @param standardKeys keys of Standard Webhooks, each of which signs; none leaves its headers out */
  constructor(
    headers: Readonly<Record<string, string>>,
    sharedSecret: string | undefined,
    standardKeys: readonly HmacKey[] = [],
  ) {
    // Left out rather than overwritten: two of a name on the wire would leave the choice to the receiver.
    const own = Object.entries(headers).filter(([name]) => !isReservedHeader(name));
    this.#fixed = [
      ...own.flat(),
      'User-Agent',
      'NestAnalytics/1.0',
      'Content-Type',
      'application/json',
      'Accept-Encoding',
      'identity',
    ];
    this.#sharedKey = sharedSecret === undefined ? undefined : sharedKey(sharedSecret);
    this.#standardKeys = standardKeys;
  }

  /** The headers of one message: for every URL and every attempt the same but for the time of the attempt. */
  for(messageId: string, body: Buffer): RequestHeaders {
    const key = this.#sharedKey;
    const headers =
      key === undefined
        ? [...this.#fixed, 'webhook-id', messageId]
        : [...this.#fixed, 'webhook-id', messageId, 'X-Signature', signature(body, key)];
    if (this.#standardKeys.length === 0) return headers;
    return (at) => [...headers, ...this.#standardHeaders(messageId, body, at)];
  }

  #standardHeaders(messageId: string, body: Buffer, at: number): string[] {
    const timestamp = String(Math.floor(at / 1000));
    const signatures = this.#standardKeys.map((key) => standardSignature(key, messageId, timestamp, body));
    return ['webhook-timestamp', timestamp, 'webhook-signature', signatures.join(' ')];
  }
}
