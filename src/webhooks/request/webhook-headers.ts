import { isReservedHeader } from '../../options/header-rules.js';
import type { HmacKey } from '../../signing/hmac-key.js';
import { headersAt, type RequestHeaders } from '../http/webhook-request.js';
import { sharedKey, signature, standardSignature } from '../../signing/webhook-signature.js';

/** The `User-Agent` of every request that this module sends. */
export const USER_AGENT = 'NestAnalytics/1.0';

/** The headers that every request has, as alternating names and values. */
export const FIXED_HEADERS: readonly string[] = [
  'User-Agent',
  USER_AGENT,
  'Content-Type',
  'application/json',
  'Accept-Encoding',
  'identity',
];

/**
 * Builds the headers of a destination's requests: the customer's first, then ours, as alternating names
 * and values. `Host`, `Connection` and `Content-Length` are written by the HTTP client.
 */
export class WebhookHeaders {
  private readonly fixed: readonly string[];
  private readonly sharedKey: HmacKey | undefined;
  private readonly standardKeys: readonly HmacKey[];

  /**
   * @param standardKeys keys of Standard Webhooks, each of which signs; without keys, the scheme's headers are left out
   */
  constructor(
    headers: Readonly<Record<string, string>>,
    sharedSecret: string | undefined,
    standardKeys: readonly HmacKey[] = [],
  ) {
    // Reserved headers are left out rather than overwritten: if a header appears twice, the receiver would choose.
    const own = Object.entries(headers).filter(([name]) => !isReservedHeader(name));
    this.fixed = [...own.flat(), ...FIXED_HEADERS];
    this.sharedKey = sharedSecret === undefined ? undefined : sharedKey(sharedSecret);
    this.standardKeys = standardKeys;
  }

  /** Returns the headers of one message: the same for every URL and attempt, except the time of the attempt. */
  for(messageId: string, body: Buffer): RequestHeaders {
    const key = this.sharedKey;
    const id = webhookId(messageId);
    const headers =
      key === undefined
        ? [...this.fixed, 'webhook-id', id]
        : [...this.fixed, 'webhook-id', id, 'X-Signature', signature(body, key)];
    if (this.standardKeys.length === 0) return headers;
    return (at) => [...headers, ...this.standardHeaders(id, body, at)];
  }

  /** Returns whether `other` gives a message the same headers. */
  isLike(other: WebhookHeaders): boolean {
    return this.sample().join('\n') === other.sample().join('\n');
  }

  private sample(): readonly string[] {
    return headersAt(this.for('sample', Buffer.alloc(0)), 0);
  }

  private standardHeaders(id: string, body: Buffer, at: number): string[] {
    const timestamp = String(Math.floor(at / 1000));
    const signatures = this.standardKeys.map((key) => standardSignature(key, { id, timestamp }, body));
    return ['webhook-timestamp', timestamp, 'webhook-signature', signatures.join(' ')];
  }
}

/**
 * Returns the value of `webhook-id`: the message's id with each `.` written `~2E` and each `~` written `~7E`. Standard
 * Webhooks forbids the full stop, because it separates what is signed: an id that held a full stop could move the
 * boundary between id, timestamp and body.
 */
export function webhookId(messageId: string): string {
  // Hardly any id holds these characters, and to look costs less than to replace.
  if (!messageId.includes('.') && !messageId.includes('~')) return messageId;
  return messageId.replace(/[.~]/g, (character) => (character === '.' ? '~2E' : '~7E'));
}
