/** Signing by the Standard Webhooks specification: https://www.standardwebhooks.com. */
export interface StandardWebhooksOptions {
  /**
   * `whsec_` and 24 to 64 random bytes in base64. The prefix may be left out; the rest is still read as base64. Up
   * to 5 secrets each add a signature: give the new and the old secret while receivers change over.
   */
  secret: string | string[];
}

/** One webhooks destination: up to five URLs that get every message as a signed `POST`. */
export interface WebhooksOptions {
  /** Name of the destination in the queue; required and unique in an array. @default 'webhooks' */
  id?: string | undefined;
  /** 1 to 5 absolute `http:` or `https:` URLs, without user name and password. */
  urls: string[];
  /**
   * At most 5 static headers, added to every request. Headers that HTTP or this module sets are refused: `Host`,
   * `Content-Type`, `User-Agent`, `X-Signature`, `proxy-*`, `webhook-*` and the like.
   */
  headers?: Record<string, string> | undefined;
  // With `exactOptionalPropertyTypes`, only these two refuse `undefined`: an unset variable would turn signing off.
  /** Signs every request with `X-Signature`: HMAC-SHA1 in hex over the bytes of the body. @default unsigned */
  sharedSecret?: string;
  /**
   * Also signs every request by Standard Webhooks, with `webhook-timestamp` and `webhook-signature`. @default
   * without
   */
  standardWebhooks?: StandardWebhooksOptions;
  /** `false`: no new messages are queued for it. Waiting messages are still delivered. @default true */
  enabled?: boolean | undefined;
  /** Names of the sources that are connected to it, at least one. @default all */
  sources?: string[] | undefined;
  /** Milliseconds for DNS, connect, TLS, request and response together. @default 5000 */
  timeout?: number | undefined;
  /** Milliseconds after the first attempt during which a message is retried. @default 14400000 (4 hours) */
  retryWindow?: number | undefined;
  /** Statuses that are worth another attempt: 300 to 599, or `'5xx'`. @default ['5xx', 408, 425, 429] */
  retryStatuses?: (number | '5xx')[] | undefined;
  /**
   * Requests per second over all processes, accurate to 20 %: from 0.1 to 100000. Each URL counts. Messages above the
   * limit wait in the queue, without delaying other destinations. @default no limit
   */
  rateLimit?: number | undefined;
  /**
   * Milliseconds for which a message is kept at least after it failed for good. Each destination has its own value;
   * the current configuration of the workers counts. @default 604800000 (7 days)
   */
  failedRetention?: number | undefined;
  /**
   * Number of messages that failed for good and are kept. When there are about a twentieth more, the oldest are removed
   * down to this number. An integer of at least 1. @default 1000000
   */
  failedLimit?: number | undefined;
  /**
   * The largest number of messages that may wait for this destination in the queue. Further messages are
   * refused before they are queued, and counted. Other destinations still get theirs. An integer of at least
   * 1. @default 1000000
   */
  backlogLimit?: number | undefined;
  /** Allows requests to loopback, private and other non-public addresses. @default false */
  allowPrivateNetwork?: boolean | undefined;
}
