import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TrackingDoor } from './tracking-door.js';

interface FastifyRequest {
  raw: IncomingMessage;
  ip: string;
}

interface FastifyReply {
  raw: ServerResponse;
  hijack(): unknown;
}

/** What is needed of a Fastify instance. */
export interface FastifyInstance {
  server: EventEmitter;
  addHook(
    name: 'onRequest',
    hook: (request: FastifyRequest, reply: FastifyReply, done: () => void) => void,
  ): unknown;
}

/** Headers by which the host's hooks know a request from another origin. */
const ORIGIN_HEADERS = [
  'origin',
  'sec-fetch-site',
  'access-control-request-method',
  'access-control-request-headers',
  'access-control-request-private-network',
];

/**
 * Answers the door's requests in a hook, before any parser. The adapter's own hooks, which come before it,
 * answer preflights and turn away other origins by the rules of the host's routes: to them, the door's
 * requests are shown as if they came from no page.
 */
export function mountOnFastify(instance: FastifyInstance, door: TrackingDoor): void {
  const preflights = new WeakSet<IncomingMessage>();
  instance.server.prependListener('request', (request: IncomingMessage) => {
    if (!door.owns(request)) return;
    for (const name of ORIGIN_HEADERS) Reflect.deleteProperty(request.headers, name);
    if (request.method !== 'OPTIONS') return;
    preflights.add(request);
    request.method = 'POST';
  });
  instance.addHook('onRequest', ({ raw, ip }, reply, done) => {
    if (!door.owns(raw)) {
      done();
      return;
    }
    if (preflights.has(raw)) raw.method = 'OPTIONS';
    reply.hijack();
    void door.answer(raw, reply.raw, ip);
  });
}
