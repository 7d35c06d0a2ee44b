import type { Provider } from '@nestjs/common';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import { LiveEvents } from './live-events.js';
import type { LiveFeed } from './live-feed.js';

/** Injection token of the `LiveFeed`; `undefined` in an application without destinations at run time. */
export const LIVE_FEED = Symbol('nestjs-analytics:live-feed');

// The console needs destinations at run time, so an application without them loads no feed. An application with them
// may have its console in another process.
async function createFeed(
  { destinations, connection }: ResolvedOptions,
  { storage }: QueueBackend,
): Promise<LiveFeed | undefined> {
  if (destinations === undefined) return undefined;
  const { createLiveFeed } = await import('./stores/create-live-feed.js');
  return createLiveFeed(storage, connection.kind === 'embedded' || connection.kind === 'none');
}

/** What the console shows of the calls of all processes. */
export const LIVE_PROVIDERS: Provider[] = [
  { provide: LIVE_FEED, inject: [RESOLVED_OPTIONS, QUEUE_BACKEND], useFactory: createFeed },
  {
    provide: LiveEvents,
    inject: [RESOLVED_OPTIONS, LIVE_FEED],
    useFactory: ({ destinations }: ResolvedOptions, feed: LiveFeed | undefined) =>
      feed && destinations && new LiveEvents({ feed, tenantOf: destinations.tenantOf }),
  },
];
