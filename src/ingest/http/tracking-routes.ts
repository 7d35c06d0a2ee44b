import type { MessageType } from '../../messages/message.types.js';

/** What a path of the tracking API takes. */
export type TrackingRoute =
  | { kind: 'batch'; isImport: boolean }
  | { kind: 'single'; type: MessageType }
  /** Metrics that browser libraries report about themselves. They are answered and ignored. */
  | { kind: 'metrics' };

const single = (type: MessageType): TrackingRoute => ({ kind: 'single', type });

const ROUTES: ReadonlyMap<string, TrackingRoute> = new Map([
  ['/v1/batch', { kind: 'batch', isImport: false }],
  ['/v1/b', { kind: 'batch', isImport: false }],
  ['/v1/import', { kind: 'batch', isImport: true }],
  ['/v1/track', single('track')],
  ['/v1/t', single('track')],
  ['/v1/identify', single('identify')],
  ['/v1/i', single('identify')],
  ['/v1/page', single('page')],
  ['/v1/p', single('page')],
  ['/v1/screen', single('screen')],
  ['/v1/s', single('screen')],
  ['/v1/group', single('group')],
  ['/v1/g', single('group')],
  ['/v1/alias', single('alias')],
  ['/v1/a', single('alias')],
  ['/v1/m', { kind: 'metrics' }],
]);

/** The paths of the API, without the prefix of the option `path`. */
export const TRACKING_PATHS: readonly string[] = [...ROUTES.keys()];

/**
 * Finds the route for a request; `undefined` if the path belongs to the host.
 *
 * @param url path and query
 * @param prefix prefix of `/v1/…`
 */
export function trackingRoute(url: string, prefix: string): TrackingRoute | undefined {
  // This cheap test settles nearly all requests of the host.
  if (!url.startsWith(`${prefix}/v1/`)) return undefined;
  const path = url.slice(prefix.length).replace(/[?#].*$/s, '');
  return ROUTES.get(path.endsWith('/') ? path.slice(0, -1) : path);
}
