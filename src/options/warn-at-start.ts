import { isRecord } from './option-reader.js';
import { hasCustomDestinations, type ResolvedOptions } from './resolved-options.js';
import { smallTimes } from './small-times.js';

export interface StartLogger {
  warn(message: string): void;
}

/** The options that sign requests, each with the header that is missing without it. */
const SIGNATURES = { sharedSecret: 'X-Signature', standardWebhooks: 'webhook-signature' };

/**
 * Warns once, at start, about settings that are allowed but seldom intended.
 *
 * @param given the options before their defaults were filled in
 */
export function warnAtStart(options: ResolvedOptions, given: unknown, logger: StartLogger): void {
  const { destinations } = options;
  if (options.connectionIsDefault && process.env.NODE_ENV === 'production') {
    const others =
      destinations !== undefined && destinations.store === undefined
        ? ' and the webhooks that customers have registered'
        : '';
    logger.warn(
      'The queue is the embedded database, since no `connection` is configured. It serves one process on one ' +
        `machine. Waiting messages${others} are lost with its folder: in a container without a volume, at each deploy. Use ` +
        'a `redis://` or `postgres://` URL in production, or `{ embedded: { dataDir } }` on a volume.',
    );
  }
  if (destinations?.encryptionKeys.length === 0 && !destinations.isPlainIntended) {
    logger.warn(
      'The secrets of destinations are stored unencrypted, because `destinations.encryptionKey` is not set. Set ' +
        'it to 32 random bytes, such as the output of `openssl rand -base64 32`: production requires it.',
    );
  }
  const hasOthers = destinations !== undefined || hasCustomDestinations(options);
  const isEmpty = options.webhooks.length === 0 && !hasOthers;
  if (options.enabled && isEmpty && options.forwarding === undefined) {
    logger.warn(
      'No destination is configured, so messages are checked and dropped. Give `webhooks: { urls: […] }`, ' +
        '`destinations`, `customDestinations` or an `endpoint`.',
    );
  }
  for (const { path, header } of undefinedSecrets(isRecord(given) ? given.webhooks : undefined)) {
    logger.warn(
      `\`${path}\` is given but undefined, so requests are sent without \`${header}\`. Check the ` +
        'variable that it comes from, or leave the key out if that is intended.',
    );
  }
  for (const { path, value } of smallTimes(given)) {
    logger.warn(
      `\`${path}\` is ${value} ms; times are in milliseconds. Give ${value * 1_000} if ${value} seconds are meant.`,
    );
  }
}

/** Finds secrets that are given as `undefined`: an unset variable must not go unnoticed. */
function undefinedSecrets(webhooks: unknown): { path: string; header: string }[] {
  const destinations: [path: string, options: unknown][] = Array.isArray(webhooks)
    ? webhooks.map((one: unknown, index) => [`webhooks[${index}]`, one])
    : [['webhooks', webhooks]];
  return destinations.flatMap(([path, options]) =>
    Object.entries(SIGNATURES)
      .filter(([name]) => isRecord(options) && name in options && options[name] === undefined)
      .map(([name, header]) => ({ path: `${path}.${name}`, header })),
  );
}
