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

/** A method and a path of the API. */
export interface ApiRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the path of the API; `{id}` stands for the id of a destination. */
  path: string;
  operation: OperationName;
  /** How long its answer may take, in milliseconds. */
  patience: number;
  /** Whether what takes longer is expected to, and told so. Otherwise something is wrong. */
  mayGoOn?: boolean;
}

/** For what is looked up or written at once. */
const QUICK = 10_000;
/** For what reads the jobs of the queue. */
const LONG = 60_000;
/** Above the longest `timeout` of a destination. */
const TEST = 75_000;

/** Everything that the API answers. */
export const ROUTES: readonly ApiRoute[] = [
  { method: 'GET', path: '', operation: 'list', patience: QUICK },
  { method: 'POST', path: '', operation: 'create', patience: QUICK },
  { method: 'GET', path: '/openapi.json', operation: 'describe', patience: QUICK },
  { method: 'GET', path: '/{id}', operation: 'get', patience: QUICK },
  { method: 'PATCH', path: '/{id}', operation: 'update', patience: QUICK },
  { method: 'DELETE', path: '/{id}', operation: 'remove', patience: QUICK },
  { method: 'POST', path: '/{id}/enable', operation: 'enable', patience: LONG, mayGoOn: true },
  { method: 'POST', path: '/{id}/disable', operation: 'disable', patience: QUICK },
  { method: 'POST', path: '/{id}/rotate-secret', operation: 'rotateSecret', patience: QUICK },
  { method: 'POST', path: '/{id}/test', operation: 'sendTest', patience: TEST },
  { method: 'GET', path: '/{id}/recent', operation: 'recent', patience: QUICK },
  { method: 'GET', path: '/{id}/stats', operation: 'stats', patience: QUICK },
  { method: 'GET', path: '/{id}/failed', operation: 'failed', patience: LONG },
  { method: 'GET', path: '/{id}/count-failed', operation: 'countFailed', patience: LONG },
  { method: 'GET', path: '/{id}/explain', operation: 'explain', patience: LONG },
  { method: 'POST', path: '/{id}/replay', operation: 'replay', patience: LONG, mayGoOn: true },
];

/** Whether the requests of a route have a body. */
export function hasBody({ method }: ApiRoute): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** Whether it sends test events, or reads the jobs of the queue. */
export function isExpensive({ patience }: ApiRoute): boolean {
  return patience > QUICK;
}

/** Whether it does nothing but read the jobs of the queue, which are those of all tenants. */
export function onlyReadsJobs({ patience, mayGoOn }: ApiRoute): boolean {
  return patience === LONG && mayGoOn !== true;
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
  const exact = ROUTES.filter((route) => route.path === path);
  if (exact.length > 0) return { routes: exact, id: '' };
  const [, id = '', action = ''] = /^\/([^/]+)(\/[^/]+)?$/.exec(path) ?? [];
  const routes = id === '' ? [] : ROUTES.filter((route) => route.path === `/{id}${action}`);
  return routes.length === 0 ? undefined : { routes, id };
}
