/** What the API does. */
export type OperationName =
  | 'list'
  | 'create'
  | 'describe'
  | 'get'
  | 'update'
  | 'remove'
  | 'enable'
  | 'disable'
  | 'rotateSecret'
  | 'sendTest'
  | 'recent'
  | 'stats'
  | 'failed'
  | 'countFailed'
  | 'explain'
  | 'replay';

/**
 * What a request takes of what all share: next to nothing, an answer of up to a megabyte, a reading of the queue's
 * jobs, which are those of all tenants, changes to them, or a request to a receiver.
 */
export type RouteWork = 'quick' | 'listing' | 'reading' | 'changing' | 'sending';

/** A method and a path of the API. */
export interface ApiRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the path of the API; `{id}` stands for the id of a destination. */
  path: string;
  operation: OperationName;
  work: RouteWork;
}

/** How long an answer may take, in milliseconds. */
export const PATIENCE: Readonly<Record<RouteWork, number>> = {
  quick: 10_000,
  listing: 10_000,
  reading: 60_000,
  changing: 60_000,
  // Above the longest `timeout` of a destination.
  sending: 75_000,
};

/** Everything that the API answers. */
export const ROUTES: readonly ApiRoute[] = [
  { method: 'GET', path: '', operation: 'list', work: 'listing' },
  { method: 'POST', path: '', operation: 'create', work: 'quick' },
  { method: 'GET', path: '/openapi.json', operation: 'describe', work: 'quick' },
  { method: 'GET', path: '/{id}', operation: 'get', work: 'quick' },
  { method: 'PATCH', path: '/{id}', operation: 'update', work: 'quick' },
  { method: 'DELETE', path: '/{id}', operation: 'remove', work: 'quick' },
  { method: 'POST', path: '/{id}/enable', operation: 'enable', work: 'changing' },
  { method: 'POST', path: '/{id}/disable', operation: 'disable', work: 'quick' },
  { method: 'POST', path: '/{id}/rotate-secret', operation: 'rotateSecret', work: 'quick' },
  { method: 'POST', path: '/{id}/test', operation: 'sendTest', work: 'sending' },
  { method: 'GET', path: '/{id}/recent', operation: 'recent', work: 'listing' },
  { method: 'GET', path: '/{id}/stats', operation: 'stats', work: 'listing' },
  { method: 'GET', path: '/{id}/failed', operation: 'failed', work: 'reading' },
  { method: 'GET', path: '/{id}/count-failed', operation: 'countFailed', work: 'reading' },
  { method: 'GET', path: '/{id}/explain', operation: 'explain', work: 'reading' },
  { method: 'POST', path: '/{id}/replay', operation: 'replay', work: 'changing' },
];

/** Whether the requests of a route have a body. */
export function hasBody({ method }: ApiRoute): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** Whether it changes nothing, so that nobody needs it who has hung up. */
export function onlyReads({ work }: ApiRoute): boolean {
  return work === 'listing' || work === 'reading';
}

/** Whether what takes long is expected to, and goes on after the answer. Otherwise something is wrong. */
export function mayGoOn({ work }: ApiRoute): boolean {
  return work === 'changing';
}

/** What a path of the API stands for. */
export interface ApiPath {
  /** By their methods. */
  routes: readonly ApiRoute[];
  /** As it stands in the path, escaped; empty without one. */
  id: string;
}

/** @param path below the path of the API; `undefined` is returned for one that the API does not have */
export function apiPath(path: string): ApiPath | undefined {
  // A path with the braces of a route's own is about a destination of that name: no id is for all destinations.
  const exact = ROUTES.filter((route) => route.path === path && !path.startsWith('/{id}'));
  if (exact.length > 0) return { routes: exact, id: '' };
  const [, id = '', action = ''] = /^\/([^/]+)(\/[^/]+)?$/.exec(path) ?? [];
  const routes = id === '' ? [] : ROUTES.filter((route) => route.path === `/{id}${action}`);
  return routes.length === 0 ? undefined : { routes, id };
}
