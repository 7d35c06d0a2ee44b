import type { AudienceStore } from './audience-store.js';
import type { ResolvedOptions, ResolvedWebhooks } from './resolved-options.js';

/** What a testing module provides instead of the queue's database. */
export interface RecordedState {
  /** Store of the audiences. */
  audienceStore: AudienceStore;
}

/** Returns a destination that stands in for missing ones. Nothing is sent to it. */
function standIn(id: string, sources: string[]): ResolvedWebhooks {
  return {
    id,
    urls: [new URL('https://recorded.invalid/')],
    headers: {},
    sharedSecret: undefined,
    standardWebhooks: undefined,
    enabled: true,
    sources,
    timeout: 5_000,
    retryWindow: 0,
    retryStatuses: [],
    rateLimit: undefined,
    failedRetention: 0,
    failedLimit: Infinity,
    backlogLimit: Infinity,
    allowPrivateNetwork: false,
  };
}

/** Returns the destinations, all enabled: tests often disable them, and still need their messages. */
function switchedOn<T extends { enabled: boolean }>(destinations: readonly T[]): T[] {
  return destinations.map((destination) => ({ ...destination, enabled: true }));
}

/**
 * Returns stand-ins for messages that no configured destination would take. They are needed if there are no
 * destinations, or if destinations of tenants or classes, which do not exist here, might take messages of any source.
 */
function standInsOf({
  sources,
  webhooks,
  forwarding,
  destinations,
  customDestinations,
}: ResolvedOptions): ResolvedWebhooks[] {
  const { objects, classes } = customDestinations;
  const names = sources.map(({ name }) => name);
  if (forwarding === undefined && webhooks.length === 0 && objects.length === 0)
    return [standIn('webhooks', names)];
  return destinations !== undefined || classes.size > 0 ? [standIn('recorded/others', names)] : [];
}

/**
 * Returns the options of an application whose messages are recorded. Everything that decides what happens to a
 * message stays the same. Nothing is opened, and `enabled: false` does not apply: tests often set it. Tenants have no
 * destinations of their own, and classes of custom destinations are not instantiated.
 */
export function recordedOptions(options: ResolvedOptions, { audienceStore }: RecordedState): ResolvedOptions {
  const { webhooks, audiences, customDestinations } = options;
  return {
    ...options,
    enabled: true,
    worker: false,
    connection: { kind: 'none' },
    partitions: 1,
    connectionIsDefault: false,
    destinations: undefined,
    customDestinations: { objects: switchedOn(customDestinations.objects), classes: new Map() },
    console: undefined,
    webhooks: [...switchedOn(webhooks), ...standInsOf(options)],
    audiences: { ...audiences, store: audiences.store ?? audienceStore },
  };
}
