import { describe, type OptionReader } from './option-reader.js';
import type { ResolvedForwarding } from './resolved-options.js';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

const EXPECTED = 'an absolute http: or https: URL without user name, password and query';

/** Reads `endpoint`. */
export function resolveForwarding(options: OptionReader): ResolvedForwarding | undefined {
  const endpoint = options.get('endpoint');
  if (endpoint === undefined) return undefined;
  if (options.get('webhooks') !== undefined) {
    options.report('endpoint', 'no value when `webhooks` is given', 'both');
  }
  const url = typeof endpoint === 'string' && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !isBase(url)) {
    // A URL may hold a password, so it is not shown.
    options.report(
      'endpoint',
      EXPECTED,
      typeof endpoint === 'string' ? 'another string' : describe(endpoint),
    );
    return undefined;
  }
  return {
    url: new URL(`${url.origin}${url.pathname.replace(/\/+$/, '')}/v1/batch`),
    // Longer than the remote API lets a request wait for its queue.
    timeout: 10 * SECOND,
    retryWindow: 4 * HOUR,
    retryStatuses: ['5xx', 408, 425, 429],
    failedRetention: 7 * 24 * HOUR,
  };
}

function isBase({ protocol, username, password, search, hash }: URL): boolean {
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === '';
}

const FORWARDING = 'endpoint/';

/** Returns the id of the destination that forwards the messages of a source. */
export function forwardingId(source: string): string {
  return `${FORWARDING}${source}`;
}

/** Whether an id is that of a forwarding destination. The id of a webhooks destination may look the same. */
export function isForwarding(destination: string): boolean {
  return destination.startsWith(FORWARDING);
}
