/** Options that `forRoot` and `forRootAsync` take, and options that do not compile. Nothing here is run. */
import { AnalyticsModule, type AnalyticsModuleOptions } from '../../src/index.js';

const webhooks = { urls: ['https://hooks.example.com/events'] };
const sources = [{ name: 'web', writeKey: 'wk_web' }];

export function importWithOptions(options: AnalyticsModuleOptions): unknown[] {
  return [
    AnalyticsModule.forRoot({ writeKey: 'wk' }),
    AnalyticsModule.forRoot({ writeKey: 'wk', webhooks, worker: false, isGlobal: false, trackingApi: true }),
    AnalyticsModule.forRoot({ sources, webhooks: [{ id: 'crm', ...webhooks }] }),
    AnalyticsModule.forRoot({ writeKey: undefined, sources }),
    AnalyticsModule.forRoot({ ...options, flushAt: 1 }),
    AnalyticsModule.forRootAsync({ useFactory: () => ({ writeKey: 'wk' }), worker: false }),
    AnalyticsModule.forRootAsync({ useFactory: () => Promise.resolve({ sources }) }),
  ];
}

export function importWithout(key: string | undefined): unknown[] {
  return [
    // @ts-expect-error options are required
    AnalyticsModule.forRoot(),
    // @ts-expect-error neither a write key nor sources
    AnalyticsModule.forRoot({ webhooks }),
    // @ts-expect-error a write key and sources
    AnalyticsModule.forRoot({ writeKey: 'wk', sources }),
    // @ts-expect-error a variable that may be unset
    AnalyticsModule.forRoot({ writeKey: key }),
    // @ts-expect-error neither a write key nor sources, from a factory
    AnalyticsModule.forRootAsync({ useFactory: () => ({ webhooks }) }),
    // @ts-expect-error a write key and sources, from a factory
    AnalyticsModule.forRootAsync({ useFactory: () => ({ writeKey: 'wk', sources }) }),
    // @ts-expect-error an extra is a boolean
    AnalyticsModule.forRoot({ writeKey: 'wk', worker: 'no' }),
    // @ts-expect-error an array has no fields
    AnalyticsModule.forRoot({ writeKey: 'wk', context: [] }),
    // @ts-expect-error there are no features
    AnalyticsModule.forFeature(),
  ];
}
