import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TrackingDoor } from './tracking-door.js';

type Middleware = (
  request: IncomingMessage & { ip?: string },
  response: ServerResponse,
  next: () => void,
) => void;

/** What is needed of an Express application. */
export interface ExpressInstance {
  use(middleware: Middleware): unknown;
  router: { stack: unknown[] };
}

/**
 * Answers the door's requests before all else that the application has: its parsers would read the body,
 * and its guards and cross-origin rules are for its own routes.
 */
export function mountOnExpress(app: ExpressInstance, door: TrackingDoor): void {
  app.use((request, response, next) => {
    if (door.owns(request)) void door.answer(request, response, request.ip);
    else next();
  });
  // An application that was made outside of Nest may have middleware already.
  const { stack } = app.router;
  stack.unshift(...stack.splice(-1));
}
