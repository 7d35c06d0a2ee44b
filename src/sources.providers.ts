import { Logger, type Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AnalyticsService } from './analytics.service.js';
import { AnalyticsClient } from './client/analytics-client.js';
import { getAnalyticsToken } from './inject-analytics.decorator.js';
import { RESOLVED_OPTIONS } from './options/options.tokens.js';
import type { ResolvedOptions } from './options/resolved-options.js';
import { mountTrackingDoor } from './sources/mount-tracking-door.js';
import { RateLimiter } from './sources/rate-limiter.js';
import { TrackingApi } from './sources/tracking-api.js';
import { TrackingDoor } from './sources/tracking-door.js';
import { WriteKeys } from './sources/write-keys.js';

function openDoor(
  { sources, trackingApi }: ResolvedOptions,
  client: AnalyticsClient,
  host: HttpAdapterHost,
): TrackingDoor | undefined {
  if (trackingApi === undefined) return undefined;
  const { path, rateLimit } = trackingApi;
  const api = new TrackingApi(client, new WriteKeys(sources), new RateLimiter(rateLimit));
  const door = new TrackingDoor(api, path, new Logger('Analytics'));
  mountTrackingDoor(host, door);
  return door;
}

/** The HTTP tracking API. */
export const TRACKING_API_PROVIDERS: Provider[] = [
  {
    provide: TrackingDoor,
    inject: [RESOLVED_OPTIONS, AnalyticsClient, HttpAdapterHost],
    useFactory: openDoor,
  },
];

/** The clients of the sources, as `@InjectAnalytics` takes them. */
export function sourceProviders(names: readonly string[]): Provider[] {
  return names.map((name) => ({
    provide: getAnalyticsToken(name),
    inject: [AnalyticsService],
    useFactory: (analytics: AnalyticsService) => analytics.source(name),
  }));
}
