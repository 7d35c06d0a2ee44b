import { isEnabledFor } from '../destinations/destination-selection.js';
import { forwardingId } from '../destinations/tracking-api/tracking-api-destination.js';
import { WEBHOOKS_NAME } from '../destinations/webhooks/webhooks-destination.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import type { ResolvedOptions } from '../options/resolved-options.js';

/** The way from one source to one destination. Messages of one lane share batches, others never do. */
export interface Lane {
  /** Name of the source. */
  readonly source: string;
  /** The destination's id. */
  readonly destination: string;
  /** The name that `integrations` knows the destination by; `undefined` where another program selects. */
  readonly destinationName: string | undefined;
  /** Milliseconds that a batch of this lane is kept if it fails for good. */
  readonly failedRetention: number;
}

/** All ways from the enabled sources to the enabled destinations that they are connected to. */
export function lanesOf({ enabled, sources, webhooks, forwarding }: ResolvedOptions): Lane[] {
  if (!enabled) return [];
  // A job that fails makes BullMQ drop the failed jobs of the whole queue that are older than its own age,
  // so that the longest retention has to be everybody's.
  const longestRetention = Math.max(0, ...webhooks.map(({ failedRetention }) => failedRetention));
  return sources
    .filter((source) => source.enabled)
    .flatMap(({ name: source }) => [
      ...webhooks
        .filter((destination) => destination.enabled && destination.sources.includes(source))
        .map(({ id }) => ({
          source,
          destination: id,
          destinationName: WEBHOOKS_NAME,
          failedRetention: longestRetention,
        })),
      ...(forwarding === undefined
        ? []
        : [
            {
              source,
              destination: forwardingId(source),
              destinationName: undefined,
              failedRetention: forwarding.failedRetention,
            },
          ]),
    ]);
}

/** Whether a message goes a way. Another program selects for itself, and takes no deletions. */
export function isMeantFor({ destinationName }: Lane, message: AnalyticsMessage): boolean {
  if (destinationName === undefined) return message.type !== 'delete';
  return isEnabledFor(message.integrations, destinationName);
}
