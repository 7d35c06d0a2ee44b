import type { HttpAdapterHost } from '@nestjs/core';
import { UnsupportedAdapterError } from '../errors/unsupported-adapter.error.js';
import { type ExpressInstance, mountOnExpress } from './mount-express.js';
import { type FastifyInstance, mountOnFastify } from './mount-fastify.js';
import type { TrackingDoor } from './tracking-door.js';

/**
 * Mounts the door on the web server of the application, as soon as it has one and so before anything of
 * the host's. An application without one has no door.
 *
 * @throws UnsupportedAdapterError
 */
export function mountTrackingDoor(host: HttpAdapterHost, door: TrackingDoor): void {
  if (hasAdapter(host)) {
    mountOn(host.httpAdapter, door);
    return;
  }
  // A testing module is given its adapter when its application is made.
  host.init$.subscribe(() => {
    if (hasAdapter(host)) mountOn(host.httpAdapter, door);
  });
}

/** An application without a web server has none, whatever the type says. */
function hasAdapter({ httpAdapter }: { httpAdapter: unknown }): boolean {
  return isObject(httpAdapter);
}

function mountOn(adapter: HttpAdapterHost['httpAdapter'], door: TrackingDoor): void {
  const instance: unknown = adapter.getInstance();
  if (isFastify(instance)) mountOnFastify(instance, door);
  else if (isExpress(instance)) mountOnExpress(instance, door);
  else throw new UnsupportedAdapterError(adapter.getType());
}

function isFastify(instance: unknown): instance is FastifyInstance {
  return isObject(instance) && 'addHook' in instance && 'server' in instance;
}

function isExpress(instance: unknown): instance is ExpressInstance {
  return isObject(instance) && 'use' in instance && 'router' in instance;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}
