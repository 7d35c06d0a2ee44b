import { isJsonObject } from '../messages/value-kind.js';
import { LONGEST_TIMER } from '../shared/clock.js';
import { headerProblems } from './header-rules.js';
import type { HmacKey } from '../signing/hmac-key.js';
import { STANDARD_SECRET, standardKey } from '../signing/webhook-signature.js';
import { urlProblems } from './webhook-url.js';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';
import type { ResolvedWebhooks } from './resolved-options.js';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** Default of `failedRetention`: milliseconds that a message is kept after it failed for good. */
export const DEFAULT_FAILED_RETENTION = 7 * 24 * HOUR;
/** Default of `failedLimit`: number of messages that failed for good and are kept for a destination. */
export const DEFAULT_FAILED_LIMIT = 1_000_000;
/** Default of `backlogLimit`: number of messages that may wait for a destination. */
export const DEFAULT_BACKLOG_LIMIT = 1_000_000;

/** In requests per second. */
const RATE_LIMIT = { min: 0.1, max: 100_000, integer: false };

/** Every secret adds a signature to a header, and receivers limit the size of headers. */
const MAX_SECRETS = 5;

const KNOWN: readonly string[] = [
  'id',
  'urls',
  'headers',
  'sharedSecret',
  'standardWebhooks',
  'enabled',
  'sources',
  'timeout',
  'retryWindow',
  'retryStatuses',
  'rateLimit',
  'failedRetention',
  'failedLimit',
  'backlogLimit',
  'allowPrivateNetwork',
] satisfies (keyof ResolvedWebhooks)[];

/** Default id of a single webhooks destination. */
const DEFAULT_ID = 'webhooks';

/** Request options of a webhooks destination, whether it is configured or stored. */
export type RequestOptions = Pick<
  ResolvedWebhooks,
  | 'urls'
  | 'headers'
  | 'sharedSecret'
  | 'standardWebhooks'
  | 'timeout'
  | 'retryWindow'
  | 'retryStatuses'
  | 'rateLimit'
>;

/** Reads `webhooks`: none, one, or an array of them. */
export function resolveWebhooks(options: OptionReader, sources: readonly string[]): ResolvedWebhooks[] {
  const value = options.get('webhooks');
  if (value === undefined) return [];
  if (isRecord(value)) {
    return [resolveOne(new OptionReader(value, 'webhooks', options.problems), sources, DEFAULT_ID)];
  }
  if (!Array.isArray(value)) {
    options.report('webhooks', '`{ urls, … }` or an array of them', describeType(value));
    return [];
  }
  const webhooks = value.map((one: unknown, index) => {
    const reader = new OptionReader(isRecord(one) ? one : {}, `webhooks[${index}]`, options.problems);
    return resolveOne(reader, sources, undefined);
  });
  const seen = new Set<string>();
  for (const [index, { id }] of webhooks.entries()) {
    if (id !== '' && seen.has(id)) {
      options.report(`webhooks[${index}].id`, 'an id that no other destination has', describe(id));
    }
    seen.add(id);
  }
  return webhooks;
}

function resolveOne(
  options: OptionReader,
  sources: readonly string[],
  defaultId: string | undefined,
): ResolvedWebhooks {
  options.onlyKnows(KNOWN);
  const allowPrivateNetwork = options.boolean('allowPrivateNetwork', false);
  return {
    id: resolveId(options, defaultId),
    ...resolveRequestOptions(options, allowPrivateNetwork),
    enabled: options.boolean('enabled', true),
    sources: options.names('sources', sources, 'sources'),
    failedRetention: options.milliseconds('failedRetention', DEFAULT_FAILED_RETENTION, { min: 0 }),
    failedLimit: options.number('failedLimit', DEFAULT_FAILED_LIMIT, { min: 1 }),
    backlogLimit: options.number('backlogLimit', DEFAULT_BACKLOG_LIMIT, { min: 1 }),
    allowPrivateNetwork,
  };
}

function resolveId(options: OptionReader, defaultId: string | undefined): string {
  if (options.get('id') !== undefined) return options.requiredString('id');
  if (defaultId === undefined) {
    options.report('id', 'a non-empty string: an `id` is required when there are several', 'undefined');
  }
  return defaultId ?? '';
}

/** Reads and checks everything that a request depends on. */
export function resolveRequestOptions(options: OptionReader, allowPrivateNetwork: boolean): RequestOptions {
  return {
    urls: resolveUrls(options, allowPrivateNetwork),
    headers: resolveHeaders(options),
    sharedSecret: options.secret('sharedSecret', ' (leave it out to send unsigned)'),
    standardWebhooks: resolveStandardWebhooks(options),
    timeout: options.milliseconds('timeout', 5 * SECOND, { min: 1, max: LONGEST_TIMER }),
    retryWindow: options.milliseconds('retryWindow', 4 * HOUR, { min: 0, max: LONGEST_TIMER }),
    retryStatuses: resolveRetryStatuses(options),
    rateLimit:
      options.get('rateLimit') === undefined ? undefined : options.number('rateLimit', 1, RATE_LIMIT),
  };
}

function resolveUrls(options: OptionReader, allowPrivateNetwork: boolean): URL[] {
  const urls = options.array('urls', 'an array of 1 to 5 URLs');
  if (urls === undefined) {
    if (options.get('urls') === undefined) options.report('urls', 'an array of 1 to 5 URLs', 'undefined');
    return [];
  }
  const problems = urlProblems(urls, { allowPrivateNetwork });
  for (const { path, expected, given } of problems) options.report(path, expected, given);
  return problems.length > 0 ? [] : urls.map((url) => new URL(String(url)));
}

function resolveHeaders(options: OptionReader): Record<string, string> {
  const headers = options.get('headers');
  if (headers === undefined) return {};
  if (!isJsonObject(headers)) {
    options.report('headers', 'an object of names and values', describeType(headers));
    return {};
  }
  for (const { path, expected, given } of headerProblems(headers)) options.report(path, expected, given);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/**
 * Reads `standardWebhooks` of a destination. Errors never show a given value: it may be a secret in the wrong place.
 */
function resolveStandardWebhooks(options: OptionReader): ResolvedWebhooks['standardWebhooks'] {
  const value = options.get('standardWebhooks');
  if (value === undefined) return undefined;
  if (!isRecord(value)) {
    options.report('standardWebhooks', '`{ secret }`', describeType(value));
    return undefined;
  }
  const reader = new OptionReader(value, options.path('standardWebhooks'), options.problems);
  reader.onlyKnows(['secret']);
  const secret = reader.get('secret');
  if (!Array.isArray(secret)) return { keys: readKeys(secret, 'secret', reader) };
  if (secret.length === 0 || secret.length > MAX_SECRETS) {
    reader.report('secret', `1 to ${MAX_SECRETS} secrets`, String(secret.length));
  }
  return { keys: secret.flatMap((one: unknown, index) => readKeys(one, `secret[${index}]`, reader)) };
}

function readKeys(secret: unknown, name: string, reader: OptionReader): HmacKey[] {
  const key = typeof secret === 'string' ? standardKey(secret) : undefined;
  if (key !== undefined) return [key];
  reader.report(name, STANDARD_SECRET, typeof secret === 'string' ? 'another string' : describeType(secret));
  return [];
}

function resolveRetryStatuses(options: OptionReader): (number | '5xx')[] {
  const statuses = options.array('retryStatuses', "an array of statuses and '5xx'");
  if (statuses === undefined) return ['5xx', 408, 425, 429];
  return statuses.filter((status): status is number | '5xx' => {
    const known =
      status === '5xx' ||
      (typeof status === 'number' && Number.isInteger(status) && status >= 300 && status <= 599);
    if (!known) options.report('retryStatuses', "statuses from 300 to 599, or '5xx'", describe(status));
    return known;
  });
}
