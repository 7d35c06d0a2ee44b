import type { AudienceStore } from './audience-store.js';
import type { ResolvedOptions, ResolvedWebhooks } from './resolved-options.js';

/** What a testing module provides in the place of the queue's database. */
export interface RecordedState {
  /** Where audiences are kept. */
  audienceStore: AudienceStore;
}

/** It stands in where the options name no destination that is enabled. Nothing is sent to it. */
function standIn(sources: string[]): ResolvedWebhooks {
  return {
    id: 'webhooks',
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
    backlogLimit: Infinity,
    allowPrivateNetwork: false,
  };
}

/**
 * The options of an application whose messages are recorded. Everything that decides what becomes of a
 * message stays as it is. Nothing is opened, and `enabled: false` does not apply: tests often set it. Tenants
 * have no destinations of their own, and no instances of custom destinations are made.
 */
export function recordedOptions(options: ResolvedOptions, { audienceStore }: RecordedState): ResolvedOptions {
  const { sources, webhooks, forwarding, audiences, customDestinations } = options;
  const { objects } = customDestinations;
  const isDelivered = forwarding !== undefined || [...webhooks, ...objects].some(({ enabled }) => enabled);
  return {
    ...options,
    enabled: true,
    worker: false,
    connection: { kind: 'none' },
    partitions: 1,
    connectionIsDefault: false,
    destinations: undefined,
    customDestinations: { objects, classes: new Map() },
    console: undefined,
    webhooks: isDelivered ? webhooks : [standIn(sources.map(({ name }) => name))],
    audiences: { ...audiences, store: audiences.store ?? audienceStore },
  };
}
