/** Where a client sends its events, and for which source. */
export interface ClientTarget {
  /** Origin of the application. */
  origin: string;
  /** Prefix of `/v1/…`; empty for none. */
  path: string;
  writeKey: string;
}

/** Returns the code that connects each client to a source, by the name of the client. */
export function snippetsFor({ origin, path, writeKey }: ClientTarget): Record<string, string> {
  const key = JSON.stringify(writeKey);
  const host = origin.replace(/^https?:\/\//, '');
  // `@segment/analytics-next` uses HTTPS by default.
  const protocol = origin.startsWith('http:') ? ", protocol: 'http'" : '';
  const ownPath = path === '' ? '' : `, path: '${path}/v1/batch'`;
  return {
    'A web page, with @segment/analytics-next': `import { AnalyticsBrowser } from '@segment/analytics-next';

const analytics = AnalyticsBrowser.load(
  { writeKey: ${key}, cdnSettings: { integrations: { 'Segment.io': { apiKey: ${key} } } } },
  { integrations: { 'Segment.io': { apiHost: '${host}${path}/v1'${protocol} } } },
);
analytics.track('Item Purchased', { revenue: 39.95 });`,
    'A server, with @segment/analytics-node': `import { Analytics } from '@segment/analytics-node';

const analytics = new Analytics({ writeKey: ${key}, host: '${origin}'${ownPath} });
analytics.track({ userId: '019mr8mf4r', event: 'Item Purchased' });`,
    'A server, with @rudderstack/rudder-sdk-node': `import RudderAnalytics from '@rudderstack/rudder-sdk-node';

const analytics = new RudderAnalytics(${key}, { dataPlaneUrl: '${origin}${path}' });
analytics.track({ userId: '019mr8mf4r', event: 'Item Purchased' });`,
    'Anything else': `curl '${origin}${path}/v1/track' -u '${writeKey.replaceAll("'", `'\\''`)}:' \\
  -d '{"userId":"019mr8mf4r","event":"Item Purchased"}'`,
  };
}
