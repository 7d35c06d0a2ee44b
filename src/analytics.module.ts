import { getQueueToken } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import { AUDIENCES_PROVIDERS } from './audiences.providers.js';
import { AudiencesService } from './audiences/audiences.service.js';
import { ANALYTICS_PROVIDERS } from './analytics.providers.js';
import { AnalyticsService } from './analytics.service.js';
import { ConfigurableModuleClass, OPTIONS_TYPE } from './analytics.module-definition.js';
import { DELIVERIES_PROVIDERS } from './deliveries.providers.js';
import { DeliveriesService } from './deliveries.service.js';
import { isRecord } from './options/option-reader.js';
import { DEFAULT_SOURCE } from './options/resolve-sources.js';
import { ANALYTICS_QUEUE } from './queue/queue.constants.js';
import { TRACKING_API_PROVIDERS } from './sources.providers.js';
import { TRACKING_PROVIDERS } from './tracking.providers.js';
import { TRACKING_HUB } from './tracking/tracking-hub.js';

/**
 * Gives an application `AnalyticsService`, and delivers what it takes. Imported once, in the root module.
 *
 * @example
 * AnalyticsModule.forRoot({ writeKey: 'wk_shop', webhooks: { urls: ['https://hooks.example.com/events'] } })
 */
@Module({
  providers: [
    ...ANALYTICS_PROVIDERS,
    ...DELIVERIES_PROVIDERS,
    ...TRACKING_PROVIDERS,
    ...AUDIENCES_PROVIDERS,
    ...TRACKING_API_PROVIDERS,
  ],
  exports: [
    AnalyticsService,
    DeliveriesService,
    AudiencesService,
    getQueueToken(ANALYTICS_QUEUE),
    TRACKING_HUB,
  ],
})
export class AnalyticsModule extends ConfigurableModuleClass {
  // The builder's own method fails with a TypeError where a call has no argument.
  static override forRoot(options?: typeof OPTIONS_TYPE): DynamicModule {
    return super.forRoot({ sourceNames: sourceNamesOf(options?.sources), ...options });
  }
}

/** What is wrong with `sources` is told when the options are checked. */
function sourceNamesOf(sources: unknown): string[] {
  if (!Array.isArray(sources)) return [DEFAULT_SOURCE];
  return sources.map((source: unknown) => (isRecord(source) ? source.name : undefined)).filter(isName);
}

function isName(name: unknown): name is string {
  return typeof name === 'string';
}
