/**
 * An application moves over from `@segment/analytics-node` by changing an import. This file compiles as long as the
 * calls are the same. Nothing here is run.
 */
import type {
  AliasParams,
  Analytics,
  GroupParams,
  IdentifyParams,
  PageParams,
  TrackParams,
} from '@segment/analytics-node';
import type { AnalyticsService } from '../../src/index.js';

/** Parameters of the other client's calls. Its `screen` takes the same parameters as its `page`. */
export interface SegmentCalls {
  identify: IdentifyParams;
  track: TrackParams;
  page: PageParams;
  screen: Parameters<Analytics['screen']>[0];
  group: GroupParams;
  alias: AliasParams;
}

export function callAsBefore(analytics: AnalyticsService, calls: SegmentCalls): void {
  analytics.identify(calls.identify);
  analytics.track(calls.track);
  analytics.page(calls.page);
  analytics.screen(calls.screen);
  analytics.group(calls.group);
  analytics.alias(calls.alias);
}

export function callAsDocumented(analytics: AnalyticsService): void {
  analytics.identify({
    userId: '019mr8mf4r',
    traits: { name: 'Michael Bolton', email: 'mbolton@example.com', plan: 'Enterprise', friends: 42 },
  });
  analytics.track({
    anonymousId: '48d213bb-95c3-4f8d-af97-86b2b404dcfe',
    event: 'Item Purchased',
    properties: { revenue: 39.95, shippingMethod: '2-day' },
    timestamp: new Date(),
    context: { ip: '8.8.8.8', locale: 'en-US' },
    integrations: { All: false, Mixpanel: true, Amplitude: { session_id: 1 } },
    messageId: 'node-next-1',
  });
  analytics.page({
    userId: '019mr8mf4r',
    category: 'Docs',
    name: 'Node.js Library',
    properties: {
      url: 'https://example.com/docs',
      path: '/docs',
      title: 'Docs',
      referrer: 'https://example.com',
    },
  });
  analytics.group({
    userId: '019mr8mf4r',
    groupId: '56',
    traits: { name: 'Initech', description: 'Software' },
  });
  analytics.alias({ previousId: 'old_id', userId: 'new_id' });
}

export function callWithoutWhatIsRequired(analytics: AnalyticsService): void {
  // @ts-expect-error a user or an anonymous user is required
  analytics.track({ event: 'Item Purchased' });
  // @ts-expect-error a track call has an event
  analytics.track({ userId: '019mr8mf4r' });
  // @ts-expect-error ids are strings
  analytics.identify({ userId: 42 });
  // @ts-expect-error a group has an id
  analytics.group({ userId: '019mr8mf4r' });
  // @ts-expect-error an alias has two ids
  analytics.alias({ userId: 'new_id' });
}
