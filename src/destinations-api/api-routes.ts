/** The operations of the API. */
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
 * How much of the shared resources a request takes: `quick` next to nothing, `listing` an answer of up to a megabyte,
 * `reading` a read of the queue's jobs, which belong to all tenants, `changing` changes to those jobs, and `sending` a
 * request to a receiver.
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

/** All routes of the API. */
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

/** Whether a route reads much and changes nothing, so that its work can end when the sender hangs up. */
export function onlyReads({ work }: ApiRoute): boolean {
  return work === 'listing' || work === 'reading';
}

/** Whether slow work is expected on a route, and continues after the answer. On other routes it is a fault. */
export function mayGoOn({ work }: ApiRoute): boolean {
  return work === 'changing';
}

/** What a path of the API stands for. */
export interface ApiPath {
  /** The routes with this path: one for each method. */
  routes: readonly ApiRoute[];
  /** Id as it stands in the path, escaped; empty if the path has none. */
  id: string;
}

/**
 * Returns what a path stands for, or `undefined` if the API has no such path.
 *
 * @param path below the path of the API
 */
export function apiPath(path: string): ApiPath | undefined {
  // In a request, a literal `{id}` is the id of a destination: it must not match the pattern of a route.
  const exact = ROUTES.filter((route) => route.path === path && !path.startsWith('/{id}'));
  if (exact.length > 0) return { routes: exact, id: '' };
  const [, id = '', action = ''] = /^\/([^/]+)(\/[^/]+)?$/.exec(path) ?? [];
  const routes = id === '' ? [] : ROUTES.filter((route) => route.path === `/{id}${action}`);
  return routes.length === 0 ? undefined : { routes, id };
}
