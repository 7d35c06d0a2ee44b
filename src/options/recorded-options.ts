import type { AudienceStore } from './audience-store.js';
import type { ResolvedOptions, ResolvedWebhooks } from './resolved-options.js';

/** What a testing module provides in the place of the queue's database. */
export interface RecordedState {
  /** Where audiences are kept. */
  audienceStore: AudienceStore;
}

/** It stands in for destinations that are not there. Nothing is sent to it. */
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

/** Destinations that are switched off take messages as well: tests often set that. */
function switchedOn<T extends { enabled: boolean }>(destinations: readonly T[]): T[] {
  return destinations.map((destination) => ({ ...destination, enabled: true }));
}

/**
 * The stand-ins that take what no configured destination would: of an application that has none, or whose tenants
 * and classes, which are not made here, may take messages of any source.
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
 * The options of an application whose messages are recorded. Everything that decides what becomes of a
 * message stays as it is. Nothing is opened, and `enabled: false` does not apply: tests often set it. Tenants
 * have no destinations of their own, and no instances of custom destinations are made.
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
