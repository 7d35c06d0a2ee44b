import type { ResolvedOptions } from './resolved-options.js';

export interface StartLogger {
  warn(message: string): void;
}

/** Tells once, at start, what is allowed and yet seldom meant. */
export function adviseAtStart(options: ResolvedOptions, logger: StartLogger): void {
  if (options.connectionIsDefault && process.env.NODE_ENV === 'production') {
    logger.warn(
      'The queue is the embedded database, since no `connection` is configured. It serves one process on one ' +
        'machine and does not survive a power cut; give a `redis://` or `postgres://` URL in production.',
    );
  }
  if (options.enabled && options.webhooks.length === 0 && options.forwarding === undefined) {
    logger.warn(
      'No destination is configured, so messages are checked and dropped. Give `webhooks: { urls: […] }` or an `endpoint`.',
    );
  }
}
