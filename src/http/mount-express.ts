import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { frameworkValue } from '../shared/framework-value.js';
import type { HostRoute } from './host-routes.js';
import type { HttpHandler } from './http-handler.js';
import { noteRequest } from './request-order.js';

type ExpressRequest = IncomingMessage & { ip?: string };
type Middleware = (request: ExpressRequest, response: ServerResponse, next: () => void) => void;

/** The parts of an Express application that are used here. */
export interface ExpressInstance {
  use(middleware: Middleware): unknown;
  /** The object that Express makes the prototype of every request. */
  request: object;
  router: { stack: readonly unknown[] };
}

/**
 * Answers the handler's requests as the first middleware. If the host creates its own servers for the Express
 * application, their requests arrive here.
 */
export function mountOnExpress(app: ExpressInstance, handler: HttpHandler): void {
  app.use((request, response, next) => {
    noteRequest(request);
    if (handler.owns(request)) {
      const ip = frameworkValue(() => request.ip);
      void handler.answer(request, response, ip);
    } else next();
  });
}

/**
 * Answers the handler's requests before the Express application sees them. An application created outside Nest
 * may already have parsers, guards and CORS rules, which come before any middleware that is added.
 */
export function answerBeforeExpress(server: Server, app: ExpressInstance, handler: HttpHandler): void {
  const listeners = server.rawListeners('request');
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    noteRequest(request);
    if (handler.owns(request)) void handler.answer(request, response, ipOf(app, request));
    else for (const listener of listeners) Reflect.apply(listener, server, [request, response]);
  });
}

export function expressRoutes({ router }: ExpressInstance): HostRoute[] {
  return router.stack.flatMap((layer) => {
    const route: unknown = isObject(layer) ? Reflect.get(layer, 'route') : undefined;
    if (!isObject(route)) return [];
    const methods = methodsOf(Reflect.get(route, 'methods'));
    const paths: unknown[] = [Reflect.get(route, 'path')].flat();
    return paths.filter(isString).flatMap((path) => methods.map((method) => ({ method, path })));
  });
}

/** Express stores the method `all` as `_all`. */
function methodsOf(methods: unknown): string[] {
  if (!isObject(methods)) return [];
  if (Reflect.get(methods, '_all') === true) return ['ALL'];
  return Object.keys(methods).map((method) => method.toUpperCase());
}

/** Returns the sender's address behind the application's trusted proxies: the value of `request.ip` in middleware. */
function ipOf(app: ExpressInstance, request: IncomingMessage): string | undefined {
  const view: unknown = Object.create(request, { app: { value: app } });
  const ip: unknown = isObject(view) && frameworkValue<unknown>(() => Reflect.get(app.request, 'ip', view));
  return isString(ip) ? ip : undefined;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}
