import { Logger, type Provider } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { AnalyticsService } from './analytics.service.js';
import { RESOLVED_OPTIONS } from './options/options.tokens.js';
import type { ResolvedOptions } from './options/resolved-options.js';
import { RequestContextInterceptor } from './tracking/request-context.interceptor.js';
import { Tracker } from './tracking/tracker.js';
import { TRACKING_HUB, TrackingHub } from './tracking/tracking-hub.js';
import { TrackingLog } from './tracking/tracking-log.js';

function openTracking(hub: TrackingHub, service: AnalyticsService, { tracking }: ResolvedOptions): Tracker {
  const tracker = new Tracker(service, tracking.identity, new TrackingLog(new Logger('Analytics')));
  hub.open(tracker, tracking.requestContext);
  return tracker;
}

/** What decorated methods and requests meet, and what records them once the module is ready. */
export const TRACKING_PROVIDERS: Provider[] = [
  { provide: TRACKING_HUB, useFactory: () => new TrackingHub() },
  { provide: Tracker, inject: [TRACKING_HUB, AnalyticsService, RESOLVED_OPTIONS], useFactory: openTracking },
  {
    provide: APP_INTERCEPTOR,
    inject: [TRACKING_HUB, RESOLVED_OPTIONS],
    // None at all costs the other requests nothing; Nest leaves out what is not there.
    useFactory: (hub: TrackingHub, { tracking }: ResolvedOptions) =>
      tracking.requestContext === 'all' ? new RequestContextInterceptor(hub) : undefined,
  },
];
