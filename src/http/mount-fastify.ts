import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { frameworkValue } from '../shared/framework-value.js';
import type { HostRoute } from './host-routes.js';
import type { HttpHandler } from './http-handler.js';
import { noteRequest } from './request-order.js';

interface FastifyRequest {
  raw: IncomingMessage;
  ip: string;
}

interface FastifyReply {
  raw: ServerResponse;
  hijack(): unknown;
}

interface FastifyRoute {
  method: string | string[];
  url: string;
}

/** The parts of a Fastify instance that are used here. */
export interface FastifyInstance {
  server: EventEmitter;
  addHook(name: 'onRoute', hook: (route: FastifyRoute) => void): unknown;
  addHook(
    name: 'onRequest',
    hook: (request: FastifyRequest, reply: FastifyReply, done: () => void) => void,
  ): unknown;
}

/** Headers by which the host's hooks recognise a cross-origin request. */
const ORIGIN_HEADERS = [
  'origin',
  'sec-fetch-site',
  'access-control-request-method',
  'access-control-request-headers',
  'access-control-request-private-network',
];

/**
 * Answers the handler's requests in a hook, before any parser. The adapter's own hooks run earlier: they answer
 * preflights and refuse other origins by the rules of the host's routes. If pages of any origin may send, requests pass
 * these hooks without the headers that show their origin, and a preflight passes as a `POST`.
 */
export function mountOnFastify(instance: FastifyInstance, handler: HttpHandler): void {
  const preflights = new WeakSet<IncomingMessage>();
  instance.server.prependListener('request', (request: IncomingMessage) => {
    noteRequest(request);
    if (!handler.isOpenToPages || !handler.owns(request)) return;
    for (const name of ORIGIN_HEADERS) Reflect.deleteProperty(request.headers, name);
    if (request.method !== 'OPTIONS') return;
    preflights.add(request);
    request.method = 'POST';
  });
  instance.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    if (!handler.owns(raw)) {
      done();
      return;
    }
    if (preflights.has(raw)) raw.method = 'OPTIONS';
    reply.hijack();
    const ip = frameworkValue(() => request.ip);
    void handler.answer(raw, reply.raw, ip);
  });
}

/** Collects the routes that the host registers from now on. */
export function collectFastifyRoutes(instance: FastifyInstance): readonly HostRoute[] {
  const routes: HostRoute[] = [];
  instance.addHook('onRoute', ({ method, url }) => {
    const methods = [method].flat();
    if (methods.length > 1 && methods.includes('POST')) routes.push({ method: 'ALL', path: url });
    // Fastify adds a `HEAD` to every `GET`.
    else for (const one of methods) if (one !== 'HEAD') routes.push({ method: one, path: url });
  });
  return routes;
}
